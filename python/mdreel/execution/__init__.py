"""Execution of runs, with blocks of frames, a pipeline, checkpoints and executors."""
