"""Batch scripts for schedulers, and advice on how to run an analysis on a cluster."""

from mdreel.cluster.batch_job import BatchJob
from mdreel.cluster.pbs import pbs_script
from mdreel.cluster.slurm import Launcher, slurm_array_script, slurm_script

__all__ = ["BatchJob", "Launcher", "pbs_script", "slurm_array_script", "slurm_script"]
