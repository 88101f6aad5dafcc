"""Discrete-event simulation of runs with SimPy; each rank is a process."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mdreel.errors import MismatchError, UnsupportedError
from mdreel.timing.observables import Observables
from mdreel_lab.prediction.chance import draw
from mdreel_lab.prediction.cluster import Cluster
from mdreel_lab.prediction.communication import begin_communication
from mdreel_lab.prediction.demand import Demand
from mdreel_lab.prediction.fluid import Fluid
from mdreel_lab.prediction.opening import Steps, close_trajectory, open_trajectory
from mdreel_lab.prediction.schemes import Scheme
from mdreel_lab.prediction.stage import Stage, targets_per_s
from mdreel_lab.prediction.working import work, work_frame_by_frame
from mdreel_lab.prediction.workload import Workload
from mdreel_lab.slow_ranks import slow_share

if TYPE_CHECKING:
    from types import ModuleType

    from simpy import Event

MOST_RANKS = 1_000_000


@dataclass(frozen=True)
class Simulated:
    """A simulated run.

    Attributes
    ----------
    observables : Observables
        Observables of each rank, as for measured runs.
    t_total : float
        Time to the end of the last rank, s.
    n_bytes : float
        Frames and messages that the links carried, bytes.
    n_copies : int
        Number of copies of late tasks.
    """

    observables: Observables
    t_total: float
    n_bytes: float
    n_copies: int


@dataclass(frozen=True)
class Scaling:
    """Scaling of a scheme, from repeated simulations.

    Attributes
    ----------
    n_ranks : ndarray, shape (n,), int64
        Numbers of ranks.
    t_total : ndarray, shape (n, n_repeats), float64
        Time to the end of the last rank in each simulation, s.
    t_serial : float
        Time of one rank, s.
    slow : ndarray, shape (n,), float64
        Share of ranks that take more than twice as long as the fastest group, mean over the simulations; see
        `slow_share`.
    """

    n_ranks: NDArray[np.int64]
    t_total: NDArray[np.float64]
    t_serial: float
    slow: NDArray[np.float64]

    @property
    def mean_t_total(self) -> NDArray[np.float64]:
        """Mean over the simulations, shape (n,), float64, s."""
        return np.asarray(self.t_total.mean(axis=1))

    @property
    def speedup(self) -> NDArray[np.float64]:
        """S(N) from the mean times, as in the papers, shape (n,), float64."""
        return self.t_serial / self.mean_t_total

    @property
    def speedup_deviation(self) -> NDArray[np.float64]:
        """Standard deviation of S(N) over the simulations, shape (n,), float64."""
        return np.asarray((self.t_serial / self.t_total).std(axis=1))

    @property
    def efficiency(self) -> NDArray[np.float64]:
        """E(N), shape (n,), float64."""
        return self.speedup / self.n_ranks


def simulate(
    cluster: Cluster, workload: Workload, scheme: Scheme, n_ranks: int, seed: int = 0, *, each_frame: bool = False
) -> Simulated:
    """Simulate a run.

    Parameters
    ----------
    cluster, workload, scheme : Cluster, Workload, Scheme
        Cluster, workload and scheme of the run.
    n_ranks : int
        Number of ranks, each on its own core.
    seed : int
        Seed of the random numbers.
    each_frame : bool
        Whether to simulate every frame with two events, to check the usual flow for each block; affordable for a few
        thousand frames. Only for schemes with one block for each rank.

    Raises
    ------
    MismatchError
        If the number of ranks is not between 1 and the number of frames, or `MOST_RANKS`.
    UnsupportedError
        If SimPy is not installed.
    """
    if not 1 <= n_ranks <= min(workload.n_frames, MOST_RANKS):
        most = min(workload.n_frames, MOST_RANKS)
        raise MismatchError(f"{n_ranks:,} ranks cannot be simulated: 1 to {most:,} for {workload.n_frames:,} frames")
    stage = _stage(cluster, workload, scheme, n_ranks, seed)
    environment = stage.environment
    demand = Demand(stage) if scheme.schedule == "demand" else None
    opened_for_all = environment.event()
    begin_communication(stage)
    for rank in range(n_ranks):
        environment.process(_run(stage, rank, opened_for_all, demand, each_frame))
    environment.run()
    assert all(event.triggered for event in stage.has_left_loop), "every rank comes to its end"
    n_copies = 0 if demand is None else demand.n_copies
    t_total = float(stage.ledger.communicated.max())
    return Simulated(stage.ledger.observables(), t_total, stage.network.moved, n_copies)


def scaling(
    cluster: Cluster, workload: Workload, scheme: Scheme, n_ranks: list[int], n_repeats: int = 5, seed: int = 0
) -> Scaling:
    """Simulate runs on several numbers of ranks, each several times.

    Raises
    ------
    MismatchError, UnsupportedError
        See `simulate`.
    """
    runs = [[simulate(cluster, workload, scheme, n, seed + repeat) for repeat in range(n_repeats)] for n in n_ranks]
    return Scaling(
        np.array(n_ranks, np.int64),
        np.array([[run.t_total for run in of_ranks] for of_ranks in runs]),
        alone(cluster, workload, scheme),
        np.array([np.mean([slow_share(run.observables.t_n) for run in of_ranks]) for of_ranks in runs]),
    )


def alone(cluster: Cluster, workload: Workload, scheme: Scheme) -> float:
    """Return the time of one rank, s, which reads alone in any scheme; its simulation has no random part.

    Raises
    ------
    MismatchError, UnsupportedError
        See `simulate`.
    """
    return simulate(cluster, workload, replace(scheme, schedule="static", has_copies=False), 1).t_total


def _stage(cluster: Cluster, workload: Workload, scheme: Scheme, n_ranks: int, seed: int) -> Stage:
    simpy = _simpy()
    environment = simpy.Environment()
    network = cluster.interconnect
    return Stage(
        environment,
        cluster,
        workload,
        scheme,
        n_ranks,
        draw(cluster, n_ranks, seed),
        Fluid(environment, cluster.n_nodes(n_ranks), network.link_bytes_per_s, targets_per_s(cluster, scheme, n_ranks)),
        Fluid(environment, 1, cluster.storage.opens_per_s, np.inf),
        simpy.Resource(environment),
    )


def _simpy() -> "ModuleType":
    try:
        import simpy
    except ImportError as error:
        raise UnsupportedError("simulations need the package simpy: pip install simpy") from error
    return simpy


def _run(stage: Stage, rank: int, opened_for_all: "Event", demand: Demand | None, each_frame: bool) -> Steps:
    """Simulate a rank."""
    yield from open_trajectory(stage, rank, opened_for_all)
    if demand is not None:
        yield from demand.loop(rank)
    else:
        stage.ledger.loop_began[rank] = stage.environment.now
        how = work_frame_by_frame if each_frame else work
        yield from how(stage, rank, stage.share_of(rank))
    yield from close_trajectory(stage, rank)
    stage.has_left_loop[rank].succeed()
