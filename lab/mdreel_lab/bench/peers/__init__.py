"""Programs that take part in benchmarks: one file per library, with all its jobs."""
