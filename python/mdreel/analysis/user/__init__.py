"""User-defined analyses and functions."""
