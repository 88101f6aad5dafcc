"""The MPI executor."""
