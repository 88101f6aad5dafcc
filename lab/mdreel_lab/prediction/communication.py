"""Communication of results to rank 0.

The algorithm of a gather in Open MPI depends on the size of the blocks (``coll_tuned_decision_fixed.c``). Blocks of
6,000 bytes and more are received from one rank after another, in order; smaller blocks of many ranks move along a
binomial tree.
"""

import math
from typing import TYPE_CHECKING

from mdreel_lab.prediction.opening import Steps
from mdreel_lab.prediction.stage import Stage

if TYPE_CHECKING:
    from simpy import Event

LINEAR_FROM_BYTES = 6000
SMALL_BYTES = 1024
LARGE_COMMUNICATOR, SMALL_COMMUNICATOR = 60, 10


def begin_communication(stage: Stage) -> None:
    """Start the processes that communicate the results of the ranks."""
    process = stage.environment.process
    if stage.scheme.communication == "global-arrays":
        for rank in range(stage.n_ranks):
            process(_put_and_get(stage, rank))
    elif is_tree(stage):
        has_sent = [stage.environment.event() for _ in range(stage.n_ranks)]
        for rank in range(stage.n_ranks):
            process(_send_along_tree(stage, rank, has_sent))
    else:
        process(_receive_in_order(stage))


def is_tree(stage: Stage) -> bool:
    """Return whether MPI_Gather uses a binomial tree."""
    n_bytes = math.ceil(stage.workload.n_frames / stage.n_ranks) * stage.workload.result_bytes
    if n_bytes > LINEAR_FROM_BYTES:
        return False
    return stage.n_ranks > LARGE_COMMUNICATOR or (stage.n_ranks > SMALL_COMMUNICATOR and n_bytes < SMALL_BYTES)


def _receive_in_order(stage: Stage) -> Steps:
    """Receive from each rank on rank 0, which ends the communication of that rank."""
    ledger, environment = stage.ledger, stage.environment
    yield stage.has_left_loop[0]
    for rank in range(1, stage.n_ranks):
        since = environment.now
        yield stage.has_left_loop[rank]
        ledger.waited_to_send[0] += environment.now - since
        ledger.waited_to_send[rank] = environment.now - ledger.loop_ended[rank]
        yield from _message(stage, rank, 0, int(ledger.n_frames[rank]))
        ledger.communicated[rank] = environment.now
    ledger.communicated[0] = environment.now


def _send_along_tree(stage: Stage, rank: int, has_sent: "list[Event]") -> Steps:
    """Receive from the ranks below in the tree, and send all results to the rank above."""
    yield stage.has_left_loop[rank]
    step, n_frames = 1, int(stage.ledger.n_frames[rank])
    while rank + step < stage.n_ranks and not rank & step:
        since = stage.environment.now
        n_below: int = yield has_sent[rank + step]
        stage.ledger.waited_to_send[rank] += stage.environment.now - since
        n_frames += n_below
        step *= 2
    if rank:
        yield from _message(stage, rank, rank & (rank - 1), n_frames)
    stage.ledger.communicated[rank] = stage.environment.now
    has_sent[rank].succeed(n_frames)


def _message(stage: Stage, sender: int, receiver: int, n_frames: int) -> Steps:
    """Send the results of `n_frames` frames."""
    environment, network = stage.environment, stage.cluster.interconnect
    seconds = network.message_s
    n_bytes = n_frames * stage.workload.result_bytes
    to, of = (stage.cluster.node_of(rank) for rank in (receiver, sender))
    if to != of:
        seconds += network.latency_s + (0.0 if stage.scheme.is_connected else _connecting_s(stage, sender))
        yield environment.timeout(seconds)
        yield stage.network.start(to, n_bytes / network.link_bytes_per_s, n_bytes, through_pool=False).done
    else:
        yield environment.timeout(seconds)


def _connecting_s(stage: Stage, rank: int) -> float:
    """Return the time before a rank can send its first message to another node, s."""
    return stage.cluster.interconnect.connect_s + _stall_s(stage, rank)


def _stall_s(stage: Stage, rank: int) -> float:
    """Return the stall of the connection, s."""
    return float(stage.chance.message_stalls[rank]) if stage.are_held_up else 0.0


def _put_and_get(stage: Stage, rank: int) -> Steps:
    """Put the results of a rank into the global array, which rank 0 reads without waiting, as in the paper's scripts.

    The processes connect when they create the array, before the timing starts.
    """
    environment, network = stage.environment, stage.cluster.interconnect
    yield stage.has_left_loop[rank]
    yield environment.timeout(network.message_s)
    if rank == 0:
        n_bytes = stage.workload.n_frames * stage.workload.result_bytes
        yield environment.timeout(stage.n_ranks * network.message_s + n_bytes / network.array_bytes_per_s)
    stage.ledger.communicated[rank] = environment.now


def connect_to_root(stage: Stage, rank: int) -> Steps:
    """Connect a rank of another node to rank 0, which sets up one connection after another."""
    if stage.is_away(rank):
        yield stage.environment.timeout(_stall_s(stage, rank))
        with stage.root.request() as turn:
            yield turn
            yield stage.environment.timeout(stage.cluster.interconnect.connect_s)
