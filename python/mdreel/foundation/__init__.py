"""Formatting, validation and file helpers that every other package may use."""
