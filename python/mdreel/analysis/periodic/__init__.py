"""Checks of periodic boundaries and units."""
