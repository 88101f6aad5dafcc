"""Clusters of frames."""
