"""Analyses and functions that users write themselves."""
