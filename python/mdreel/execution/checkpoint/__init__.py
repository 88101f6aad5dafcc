"""Checkpoints, which let an interrupted run continue."""
