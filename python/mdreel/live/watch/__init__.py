"""Watchers, which show channels and their analyses on a terminal and in a browser."""
