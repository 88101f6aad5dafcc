"""Comparisons of each frame with a reference structure."""
