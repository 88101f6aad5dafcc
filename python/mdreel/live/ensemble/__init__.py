"""Ensembles: many simulations as one."""

from mdreel.live.ensemble.configuration import EnsembleTable, SlurmTable
from mdreel.live.ensemble.ensemble import Ensemble, Gathered
from mdreel.live.ensemble.replica_analyses import Inquiry, Wanted

__all__ = ["Ensemble", "EnsembleTable", "Gathered", "Inquiry", "SlurmTable", "Wanted"]
