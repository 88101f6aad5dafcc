"""Ensembles of simulations that are run and analysed together."""

from mdreel.live.ensemble.ensemble import Ensemble, Gathered
from mdreel.live.ensemble.observation import Inquiry, Wanted
from mdreel.live.ensemble.table import EnsembleTable, SlurmTable

__all__ = ["Ensemble", "EnsembleTable", "Gathered", "Inquiry", "SlurmTable", "Wanted"]
