"""The analyses, one file for each library: a function of a job for each analysis that the library has."""
