"""Watching: channels of running simulations and the analyses on them, on a terminal and in a browser."""
