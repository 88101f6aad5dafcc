"""Benchmarks against peers: cases, whose contenders run in turn, and measures of mdreel alone."""
