"""Executors, which run blocks of frames on workers."""
