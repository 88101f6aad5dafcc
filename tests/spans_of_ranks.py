"""What holds for the spans of every run, and for the observables that are made of them."""

import numpy as np

from mdreel.timing.observables import NAMES, Observables, observables_of
from mdreel.timing.spans import COORDINATOR, KINDS, NO_BLOCK


def assert_identities(spans: np.ndarray) -> Observables:
    """Check what must hold whatever was recorded."""
    seen = observables_of(spans)
    own = spans[spans["worker"] != COORDINATOR]
    np.testing.assert_array_equal(seen.ranks, np.unique(own["worker"]))
    same = {"rtol": 0, "atol": 1e-9}
    np.testing.assert_allclose(seen.t_n, seen.t_block + seen.t_comm, **same)
    np.testing.assert_allclose(seen.t_block, seen.t_open + seen.t_all_frames + seen.overhead2, **same)
    loop = seen.t_io + seen.t_comp + seen.t_end_loop + seen.overhead1
    np.testing.assert_allclose(seen.t_all_frames, loop, **same)
    stretches = [own[own["worker"] == rank] for rank in seen.ranks]
    taken = [1e-9 * float(rank["stop_ns"].max() - rank["start_ns"].min()) for rank in stretches]
    np.testing.assert_allclose(seen.t_n, taken, **same)
    np.testing.assert_allclose(seen.t_comm, seen.t_transfer + seen.t_comm_wait, **same)
    assert (seen.t_comm_wait <= seen.t_idle + 1e-9).all()
    np.testing.assert_allclose(seen.t_own + seen.t_idle, seen.t_n, **same)
    for name in NAMES:
        times = getattr(seen, name)
        assert times.shape == seen.ranks.shape
        assert (times >= -1e-9).all(), name
    assert (seen.t_decompress <= seen.t_io + 1e-9).all()
    assert (seen.t_wait <= seen.overhead1 + seen.overhead2 + 1e-9).all()
    wall = float(spans["stop_ns"].max() - own["start_ns"].min()) * 1e-9 if len(own) else 0.0
    assert seen.t_total == wall >= max(seen.t_n, default=0.0) - 1e-9
    return seen


def assert_of_a_run(spans: np.ndarray, n_frames: int) -> Observables:
    """Check what holds where an executor has recorded them: a worker does one thing after another."""
    seen = assert_identities(spans)
    assert seen.n_frames.sum() == n_frames
    for place, rank in enumerate(seen.ranks):
        own = spans[spans["worker"] == rank]
        own = own[np.lexsort((own["stop_ns"], own["start_ns"]))]
        assert (own["start_ns"][1:] >= own["stop_ns"][:-1]).all(), f"spans of rank {rank} overlap"

        def sum_of(*kinds: str, own: np.ndarray = own) -> float:
            of_kinds = own[np.isin(own["kind"], [KINDS.index(kind) for kind in kinds])]
            return 1e-9 * float((of_kinds["stop_ns"] - of_kinds["start_ns"]).sum())

        read = own[own["kind"] == KINDS.index("read")]
        assert seen.n_bytes[place] == read["n_bytes"].sum()
        summed = [
            (seen.t_open, sum_of("open", "topology")),
            (seen.t_comp, sum_of("compute")),
            (seen.t_transfer, sum_of("communicate")),
            (seen.t_wait + seen.t_idle, sum_of("wait")),
        ]
        for times, expected in summed:
            np.testing.assert_allclose(times[place], expected, rtol=0, atol=1e-9)
        # What is read behind the last frame is the end of the loop.
        assert seen.t_io[place] <= sum_of("read", "decompress") + 1e-9
        assert seen.t_io[place] + seen.t_end_loop[place] >= sum_of("read", "decompress") - 1e-9
        blocks = own["block"][own["kind"] == KINDS.index("compute")]
        assert seen.n_blocks[place] >= len(np.unique(blocks[blocks != NO_BLOCK]))
    return seen
