"""Notices, which analyses of running simulations use to publish their progress and results for watchers."""
