"""Notices, in which analyses of running simulations publish their progress and results for watchers."""
