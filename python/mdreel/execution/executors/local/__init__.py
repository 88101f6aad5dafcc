"""Executors for a single machine: serial, threads and processes."""
