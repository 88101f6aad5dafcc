"""Benchmarks driven by scenarios: what is run, what it took, and tables and figures of it beside published values."""
