"""The core's readers under MDAnalysis."""

from mdreel.mdanalysis.accelerate import accelerate, unaccelerate

__all__ = ["accelerate", "unaccelerate"]
