"""Ensembles of simulations that are run and analysed together."""

from mdreel.live.ensemble.configuration import EnsembleTable, SlurmTable
from mdreel.live.ensemble.ensemble import Ensemble, EnsembleOutcome
from mdreel.live.ensemble.replica_analyses import ReplicaAnalyses, ReplicaAnalysis

__all__ = ["Ensemble", "EnsembleOutcome", "EnsembleTable", "ReplicaAnalyses", "ReplicaAnalysis", "SlurmTable"]
