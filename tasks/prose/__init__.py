"""Checks of the English in documents, docstrings and help texts."""
