"""Executors: who runs the blocks."""
