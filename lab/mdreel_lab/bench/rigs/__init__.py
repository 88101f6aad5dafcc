"""Rigs: hosts on one machine, and file systems of theirs."""
