"""Executors: who runs the blocks."""

from mdreel.executors.executor import Executor
from mdreel.executors.find import EXECUTORS, find_executor
from mdreel.executors.job import Job, Outcome
from mdreel.executors.serial import Serial
from mdreel.executors.threads import Threads

__all__ = ["EXECUTORS", "Executor", "Job", "Outcome", "Serial", "Threads", "find_executor"]
