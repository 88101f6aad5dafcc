"""Reporters and clients for simulation engines."""
