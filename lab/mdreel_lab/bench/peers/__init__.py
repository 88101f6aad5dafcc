"""Programs that take part in benchmarks: one file for each library, with every job that it can do."""
