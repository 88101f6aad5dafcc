"""Simulations and analyses of the commands ``mdreel demo``."""
