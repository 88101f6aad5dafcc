"""Channels that carry frames from a running simulation to analyses on the same machine."""
