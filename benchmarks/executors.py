"""The cases of executors: what a slow worker costs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cases import Case, Goal, Plan
from contender import Contender, job, python
from peers.straggler import N_TIMES, QUOTA_US, SLOWED_QUOTA_US

if TYPE_CHECKING:
    from data import System

N_WORKERS = 4
LEFT = (N_WORKERS - 1 + SLOWED_QUOTA_US / QUOTA_US) / N_WORKERS
"""What is left of the capacity of all workers when one of them is slowed."""


def _stragglers(system: System, name: str) -> Case:
    def contender(way: str, text: str) -> Contender:
        work = job(system, "xtc", way=way, n_workers=N_WORKERS)
        needs = "file:/sys/fs/cgroup/cpu/cpu.cfs_quota_us"
        return replace(python("straggler", text, work, 2, way, needs), kind="ours", key=way)

    several = replace(system, n_frames=N_TIMES * system.n_frames)
    contenders = (
        contender("demand", "on demand, no worker slowed"),
        contender("demand-slowed", "on demand, 1 of 4 workers at a tenth"),
        contender("static-slowed", "static blocks, 1 of 4 workers at a tenth"),
        contender("oversubscribed-slowed", "3 blocks a worker (late ones are done twice), 1 of 4 workers at a tenth"),
    )
    ideal = f"against no worker slowed (ideal {1 / LEFT:.2f})"
    bound = round(1.15 / LEFT, 2)
    goals = (Goal(f"on demand, {ideal}", ("demand-slowed",), ("demand",), bound, at_least=False),)
    title = "A straggler: 4 worker processes with half a core each, of which one is slowed ten-fold"
    return Case(name, title, several, "xtc", contenders, goals)


EXECUTORS = {"stragglers": Plan("adk", ("xtc",), _stragglers, long=True)}
"""The cases by name, in the order in which they run."""
