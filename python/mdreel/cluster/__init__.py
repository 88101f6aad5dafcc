"""Batch scripts for schedulers, and recommendations on how to run an analysis on a cluster."""

from typing import Any

from mdreel.cluster.batch_job import BatchJob
from mdreel.cluster.pbs import pbs_script
from mdreel.cluster.slurm import Launcher, slurm_array_script, slurm_script
from mdreel.cluster.stage_in import StageIn
from mdreel.foundation.submodules import submodule

__all__ = ["BatchJob", "Launcher", "StageIn", "pbs_script", "slurm_array_script", "slurm_script"]


def __getattr__(name: str) -> Any:
    return submodule(__name__, name)


def __dir__() -> list[str]:
    return __all__.copy()
