"""Frames that go from simulations to analyses: the experiment of Lumsden et al. (2024), with more baselines."""
