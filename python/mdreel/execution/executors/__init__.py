"""Executors, which run blocks of frames on several workers."""
