"""Running blocks of frames: blocks, pipeline, checkpoints and executors."""
