"""Simulations of runs on a cluster, with a model of its nodes, file system and network.

All outputs are labelled as simulated, not measured.
"""
