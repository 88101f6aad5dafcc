"""Managed directories, which publish a file only after it has been closed."""
