"""Hosts made on one machine, and their file systems."""
