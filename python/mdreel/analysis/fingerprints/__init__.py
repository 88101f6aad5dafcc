"""Interaction fingerprints."""
