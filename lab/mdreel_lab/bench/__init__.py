"""Benchmarks driven by scenarios, with tables and figures of the results beside published values."""
