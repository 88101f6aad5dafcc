"""Parallel analysis of molecular dynamics trajectories, as fast as the hardware allows."""

from mdreel.analysis.rmsd import RMSD
from mdreel.sources.open import open_source

__all__ = ["RMSD", "open_source"]
