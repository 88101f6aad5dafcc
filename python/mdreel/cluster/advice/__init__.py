"""Recommendations on how to run an analysis, based on a sample, published guidelines and a run-time model."""

from mdreel.cluster.advice.advice import Advice
from mdreel.cluster.advice.advise import advice_of, advise
from mdreel.cluster.advice.sample import FrameCost, Sample
from mdreel.cluster.advice.target import Target, target_of

__all__ = ["Advice", "FrameCost", "Sample", "Target", "advice_of", "advise", "target_of"]
