"""Timing: what runs cost, in the words of the literature."""
