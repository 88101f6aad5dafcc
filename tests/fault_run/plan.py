"""Faults of a round, drawn from a seed: the same seed gives the same list."""

import random
from collections import Counter
from dataclasses import dataclass

from fault_run.cast import CHANNELS, HOSTS, Actor, actors

FIRST = 2.0
"""Time of the first fault, s after the start of a round."""

PER_SECOND = 1.0
"""Mean number of faults in a second."""

_KINDS = {"kill": 20, "stop": 16, "cut": 6, "fill": 4, "kill-archiver": 2, "kill-host": 1}
_SMALL_DISKS = (HOSTS[0], HOSTS[2])
_MOST_KILLS = 50
"""Maximum number of kills of an actor: a channel may be opened 64 times."""


@dataclass(frozen=True)
class Fault:
    """Something that happens to an actor or a host.

    Attributes
    ----------
    at : float
        Time after the start of the round, s.
    kind : {"kill", "stop", "cut", "fill", "kill-archiver", "kill-host"}
        What happens.
    target : str
        Name of an actor, or of a host for ``cut``, ``fill`` and ``kill-host``.
    seconds : float
        How long it lasts, s; after a kill, the time until the restart.
    """

    at: float
    kind: str
    target: str
    seconds: float

    def __str__(self) -> str:
        return f"{self.at:8.3f} {self.kind} {self.target} {self.seconds:.3f}"


def draw(seed: int, round_number: int, seconds: float) -> list[Fault]:
    """Return the faults of a round, in order; none of them lasts longer than the round."""
    dice = random.Random(f"{seed} {round_number}")
    kills: Counter[str] = Counter()
    faults = []
    at = FIRST
    while True:
        at += dice.expovariate(PER_SECOND)
        if at >= seconds:
            return faults
        fault = _one(dice, at)
        if fault.kind == "kill" or (fault.kind == "kill-host" and fault.target == HOSTS[0]):
            kills[fault.target] += 1
            if kills[fault.target] + kills[HOSTS[0]] > _MOST_KILLS:
                continue
        faults.append(fault)


def _one(dice: random.Random, at: float) -> Fault:
    (kind,) = dice.choices(list(_KINDS), list(_KINDS.values()))
    if kind == "cut":
        return Fault(at, kind, dice.choice(HOSTS), dice.uniform(0.3, 8.0))
    if kind == "fill":
        return Fault(at, kind, dice.choice(_SMALL_DISKS), dice.uniform(0.3, 4.0))
    if kind == "kill-host":
        return Fault(at, kind, dice.choice(HOSTS), dice.uniform(0.0, 1.5))
    if kind == "kill-archiver":
        return Fault(at, kind, _simulation_with_archive(), 0.0)
    actor = _chosen(dice)
    if kind == "kill":
        return Fault(at, kind, actor.name, dice.uniform(0.0, 1.5))
    is_long = dice.random() < 0.25
    return Fault(at, kind, actor.name, dice.uniform(5.0, 7.0) if is_long else dice.uniform(0.2, 3.0))


def _chosen(dice: random.Random) -> Actor:
    """Choose an actor: half of the time one on which many others depend."""
    pillars = [actor for actor in actors() if actor.role in ("simulate", "serve", "relay")]
    return dice.choice(pillars if dice.random() < 0.5 else list(actors()))


def _simulation_with_archive() -> str:
    return next(f"{channel.name}-simulation" for channel in CHANNELS if channel.own_archive is not None)
