"""Ways for frames to go from a producer to its consumer: one file per way."""
