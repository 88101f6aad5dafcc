"""Analyses."""

from mdreel.analysis.rmsd import RMSD

__all__ = ["RMSD"]
