"""Experiments of the papers, predictions and benchmarks for mdreel."""
