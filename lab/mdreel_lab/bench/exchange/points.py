"""Points of exchange: the runs of a scenario at a size."""

from dataclasses import dataclass

from mdreel_lab.bench.exchange.catalogue import OWN, synchronisations_of
from mdreel_lab.bench.exchange.models import MODELS
from mdreel_lab.bench.exchange.scenario import ALL, EACH_FRAME, EACH_STEP, KIND, Exchange, Size
from mdreel_lab.bench.records import key_of

_SPOKEN = {
    "channel-ring": "channel, ring",
    "channel-file": "channel, staged",
    "managed": "managed directory",
    "local": "local files",
    "xfs": "XFS",
    "shared": "shared file system",
    "moosefs": "MooseFS (as a stand-in for Lustre)",
    "sst": "ADIOS2 SST",
    "dyad": "DYAD",
}


@dataclass(frozen=True)
class ExchangePoint:
    """One run: everything that determines it, as of the scenario and its size; repeats are counted from 1."""

    scenario: str
    solution: str
    synchronisation: str
    placement: str
    model: str
    n_pairs: int
    pairs_per_node: int
    n_frames: int
    stride: int
    speed: float
    analysis: float
    repeat: int
    sleep: str = EACH_FRAME
    kind: str = KIND

    @property
    def series(self) -> str:
        """The name that points share if they differ only in the repeat and in their place on the axis."""
        ways = "" if self.synchronisation == OWN else f", {self.synchronisation}"
        return _SPOKEN[self.solution] + ways

    @property
    def period(self) -> float:
        """Time in which the simulation computes a frame, s."""
        return self.stride / MODELS[self.model].steps_per_second / self.speed

    @property
    def n_sleeps(self) -> int:
        """Number of times that the simulation sleeps to compute a frame."""
        return self.stride if self.sleep == EACH_STEP else 1

    @property
    def n_nodes(self) -> int:
        """Number of nodes with producers, which is also that of nodes with consumers."""
        return -(-self.n_pairs // self.pairs_per_node) if self.placement == "nodes" else 1

    @property
    def n_workers(self) -> int:
        """Processes that compute."""
        return 2 * self.n_pairs

    @property
    def key(self) -> str:
        """The name of its record."""
        return key_of(self, self.series, f"{self.model}-p{self.n_pairs}-s{self.stride}")

    def __str__(self) -> str:
        pairs = f"{self.n_pairs} pair{'s' if self.n_pairs > 1 else ''}"
        what = f"{MODELS[self.model].label}, stride {self.stride}, {pairs}"
        return f"{self.scenario}: {self.series}, {what}, repeat {self.repeat}"


def exchange_points_of(name: str, scenario: Exchange, size: Size) -> list[ExchangePoint]:
    """Return all points of a scenario, all of one repeat before the next."""
    ways = [
        (solution, one)
        for way in scenario.way
        for solution in way.solution
        for one in (synchronisations_of(solution) if ALL in way.synchronisation else way.synchronisation)
    ]
    return [
        ExchangePoint(
            scenario=name,
            solution=solution,
            synchronisation=synchronisation,
            placement=scenario.placement,
            model=model,
            n_pairs=n_pairs,
            pairs_per_node=size.pairs_per_node,
            n_frames=size.frames,
            stride=stride or MODELS[model].stride,
            speed=size.speed,
            analysis=scenario.analysis,
            repeat=repeat,
            sleep=scenario.sleep,
        )
        for repeat in range(1, size.repeats + 1)
        for model in scenario.model
        for n_pairs in size.pairs
        for stride in size.strides
        for solution, synchronisation in ways
    ]
