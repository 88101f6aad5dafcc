"""Executors for one machine: serial, threads and processes."""
