"""Commands that run an analysis, and their shared code."""
