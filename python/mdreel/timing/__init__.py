"""Timing of runs, in the terms of the literature."""
