"""Commands for result tables."""
