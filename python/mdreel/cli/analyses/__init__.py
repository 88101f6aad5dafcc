"""Commands that run an analysis, and what they share."""
