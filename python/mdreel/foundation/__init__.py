"""Helpers for formatting, validation and files, which all other packages can use."""
