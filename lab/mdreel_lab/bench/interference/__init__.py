"""Experiment: file reads and messages of MPI on one link of each host, and on two."""
