"""Commands that run an analysis, and the code that they share."""
