"""Scenarios of exchange: solutions, frames, numbers of pairs, and published claims."""

from dataclasses import dataclass, replace
from typing import Self

from mdreel.foundation.toml_schema import entry
from mdreel_lab.bench.exchange.catalogue import OWN, SOLUTIONS, SYNCHRONISATIONS, synchronisations_of
from mdreel_lab.bench.exchange.models import MODELS
from mdreel_lab.bench.exchange.regions import IDLE, MOVEMENT

KIND = "exchange"
"""The ``kind`` of such scenarios in their files."""

PLACEMENTS = ("one-node", "nodes")
AXES = ("pairs", "model", "stride")
SIDES = ("production", "consumption", "hand-over")
BOTH = "both"
"""Moving and being idle."""

PARTS = (BOTH, MOVEMENT, IDLE)
EACH_FRAME, EACH_STEP = "frame", "step"
"""A simulation sleeps once for each frame, or once for each step."""

ALL = "all"
"""All ways of synchronising of a solution."""


@dataclass(frozen=True, kw_only=True)
class Size:
    """The size of the runs of a scenario."""

    frames: int = entry("Frames of each pair.", 128, least=2)
    pairs: tuple[int, ...] = entry("Numbers of pairs of a producer and a consumer.", (1,), least=1)
    pairs_per_node: int = entry("With the placement nodes, number of producers, or of consumers, per node.", 8, least=1)
    speed: float = entry("Factor by which simulations are faster than the published ones.", 1.0)
    strides: tuple[int, ...] = entry("Steps between frames; 0 for the published stride of the model.", (0,), least=0)
    repeats: int = entry("Number of repeats of each point.", 1, least=1)


@dataclass(frozen=True, kw_only=True)
class Way:
    """Solutions and ways of synchronising: each combination is a series."""

    solution: tuple[str, ...] = entry("Solutions that transfer frames.", choices=SOLUTIONS)
    synchronisation: tuple[str, ...] = entry(
        "Synchronization methods of solutions with files.", (ALL,), choices=(ALL, OWN, *SYNCHRONISATIONS)
    )


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A comparison of the times of two series, with the published ratio."""

    source: str = entry("Paper, and the figure.")
    text: str = entry("The claim.")
    finding: int = entry("Number of the finding.", least=1)
    side: str = entry("Side whose time is compared.", choices=SIDES)
    part: str = entry("Part of this time.", BOTH, choices=PARTS)
    slower: tuple[str, ...] = entry("Names of the series that take longer according to the claim; each gives a row.")
    faster: tuple[str, ...] = entry(
        "Names of the series that take less time; by default, the same series at another place.", ()
    )
    slower_at: str = entry("Place of the slower series on the axis; by default, all places.", "")
    faster_at: str = entry("Place of the faster series on the axis; by default, that of the slower series.", "")
    published: tuple[float, ...] = entry("The published factor, or the smallest and the largest of several.", ())


@dataclass(frozen=True, kw_only=True)
class Exchange:
    """A scenario of exchange, as described in its file."""

    kind: str = entry("Kind of the scenario.", choices=(KIND,))
    title: str = entry("Title of the scenario.")
    paper: str = entry("Paper and figures with the published values.", "")
    about: str = entry("Description, with the differences from the paper.", "")
    placement: str = entry("Placement of the processes.", "one-node", choices=PLACEMENTS)
    over: str = entry("Setting that varies along the axis.", "pairs", choices=AXES)
    model: tuple[str, ...] = entry("The molecular models.", ("jac",), choices=tuple(MODELS))
    sleep: str = entry(
        "Whether simulations sleep once per frame, or once per step as in the paper.",
        EACH_FRAME,
        choices=(EACH_FRAME, EACH_STEP),
    )
    analysis: float = entry("Duration of an analysis, in periods of the simulation.", 1.0)
    # What these are by default cannot be changed, and neither can what `entry` makes of them.
    small: Size = entry("The small size.", Size())  # noqa: RUF009
    full: Size = entry("The full size.", Size())  # noqa: RUF009
    way: tuple[Way, ...] = entry("Ways of exchanging frames.")
    claim: tuple[Claim, ...] = entry("Published claims.", ())

    def size(self, name: str) -> Size:
        """Return one of the sizes."""
        return {"small": self.small, "full": self.full}[name]

    def with_repeats(self, n: int) -> Self:
        """Return the scenario with this number of repeats at every size."""
        return replace(self, small=replace(self.small, repeats=n), full=replace(self.full, repeats=n))


def problems_of(scenario: Exchange) -> list[str]:
    """Return messages about settings that contradict each other."""
    found = []
    for name in ("small", "full"):
        size = scenario.size(name)
        if not size.speed > 0:
            found.append(f"{name}: speed must be more than 0, not {size.speed:g}")
        several = {"pairs": size.pairs, "model": scenario.model, "stride": size.strides}
        for axis, values in several.items():
            if axis != scenario.over and len(values) > 1:
                found.append(f"{name}: several of {axis}, and over = {scenario.over!r}")
    if not scenario.analysis >= 0:
        found.append(f"analysis must be 0 or more, not {scenario.analysis:g}")
    for way in scenario.way:
        for solution in way.solution:
            known = (ALL, *synchronisations_of(solution))
            found += [f"{solution} has no {one!r}" for one in way.synchronisation if one not in known]
    for i, claim in enumerate(scenario.claim, 1):
        if not claim.faster and claim.slower_at in ("", claim.faster_at):
            found.append(f"claim {i}: say what is compared: faster, or slower-at and faster-at")
    return found
