"""Commands for trajectory files."""
