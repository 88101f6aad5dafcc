"""Clusters: batch scripts, with which schedulers run an analysis on several nodes."""

from mdreel.cluster.batch_job import BatchJob
from mdreel.cluster.pbs import pbs_script
from mdreel.cluster.slurm import Launcher, slurm_array_script, slurm_script

__all__ = ["BatchJob", "Launcher", "pbs_script", "slurm_array_script", "slurm_script"]
