"""Watchers, which display channels and their analyses on a terminal or in a browser."""
