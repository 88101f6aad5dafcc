"""Ensembles: many simulations as one."""

from mdreel.ensemble.ensemble import Ensemble, Gathered
from mdreel.ensemble.observation import Inquiry, Wanted
from mdreel.ensemble.table import EnsembleTable, SlurmTable

__all__ = ["Ensemble", "EnsembleTable", "Gathered", "Inquiry", "SlurmTable", "Wanted"]
