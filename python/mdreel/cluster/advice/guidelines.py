"""Guidelines of the papers as functions of measured ratios.

Sources
-------
Khoshlessan et al. 2019: "Parallel performance of molecular dynamics trajectory analysis", section 8.
Khoshlessan et al. 2018: "Applications and performance of HPC resources for parallel analysis ...", section 6.
"""

from dataclasses import dataclass, field

from mdreel.foundation.formatting import digits
from mdreel.timing.guidelines import COMPUTE_BOUND, SCALES_AS_IT_IS

PAYS = 0.5
"""Another format is worth mentioning where it takes less than this share of the time of a frame."""

PLAIN_BYTES_PER_S = 6e9
"""How fast one core brings plain float32 from the page cache into arrays, bytes/s: DCD of AdK in `benchmarks/`."""

PAPER_2019 = "Khoshlessan et al. 2019, section 8"
BEYOND = "beyond the papers"


@dataclass(frozen=True)
class Verdict:
    """What a guideline says, and by which numbers.

    Attributes
    ----------
    subject : str
        What it is about.
    choice : str
        What is chosen, in a word.
    reason : str
        Why, in a sentence.
    source : str
        Who says so.
    numbers : dict of str to float
        What it was decided by.
    """

    subject: str
    choice: str
    reason: str
    source: str
    numbers: dict[str, float] = field(default_factory=dict)


def workload(ratio_comp_io: float) -> Verdict:
    """Say what a task is bound by (heuristic 1).

    Parameters
    ----------
    ratio_comp_io : float
        R_comp/io of the serial run.
    """
    numbers = {"ratio_comp_io": ratio_comp_io}
    if ratio_comp_io >= COMPUTE_BOUND:
        reason = f"R_comp/io = {digits(ratio_comp_io)} >= 1: more time is computed than read"
        return Verdict("bound by", "compute", reason, f"{PAPER_2019}, heuristic 1", numbers)
    reason = f"R_comp/io = {digits(ratio_comp_io)} < 1: more time is read and decompressed than computed"
    return Verdict("bound by", "reading", reason, f"{PAPER_2019}, heuristic 1", numbers)


def file_access(
    ratio_comp_io: float,
    n_nodes: int,
    n_workers: int,
    n_files: int = 1,
    *,
    is_hdf5: bool = False,
    has_parallel_hdf5: bool = False,
) -> Verdict:
    """Say how workers should come to the bytes (heuristics 2 and 3).

    Parameters
    ----------
    ratio_comp_io : float
        R_comp/io of the serial run.
    n_nodes, n_workers : int
        Nodes that are used, and workers on all of them.
    n_files : int
        Files that the trajectory is in.
    is_hdf5 : bool
        Whether it is one file of H5MD.
    has_parallel_hdf5 : bool
        Whether it can be read by parallel HDF5.

    Returns
    -------
    Verdict
        The choice is a way of access as `Analysis.run` names it: ``shared``, ``chain``, ``segments``,
        ``hdf5-independent``.
    """
    numbers = {"ratio_comp_io": ratio_comp_io, "n_nodes": float(n_nodes), "n_workers": float(n_workers)}
    numbers["n_files"] = float(n_files)
    as_it_is = "shared" if n_files == 1 else "chain"
    ratio = f"R_comp/io = {digits(ratio_comp_io)}"
    if ratio_comp_io >= COMPUTE_BOUND:
        reason = f"{ratio} >= 1: one shared file does no harm"
        return Verdict("file access", as_it_is, reason, f"{PAPER_2019}, heuristic 2", numbers)
    if n_nodes == 1:
        reason = f"{ratio} < 1, but on one node: workers open the file once, and read blocks of it, not frames"
        return Verdict("file access", as_it_is, reason, BEYOND, numbers)
    avoid = f"{ratio} < 1 on {n_nodes} nodes: a single shared file is to be avoided"
    if is_hdf5 and has_parallel_hdf5:
        reason = f"{avoid}, and the file is one of HDF5, which ranks can open together"
        return Verdict("file access", "hdf5-independent", reason, f"{PAPER_2019}, heuristic 3.1", numbers)
    how = "each rank has segments of its own" if n_files >= n_workers else f"split it into {n_workers} segments first"
    return Verdict("file access", "segments", f"{avoid}: {how}", f"{PAPER_2019}, heuristic 3.2", numbers)


def transfer(ratio_comp_comm: float, n_nodes: int, executor: str) -> Verdict:
    """Say how results should come to the caller (heuristics 2.1, 2.2 and 3.3).

    Parameters
    ----------
    ratio_comp_comm : float
        R_comp/comm, as it is expected.
    n_nodes : int
        Nodes that are used.
    executor : str
        Who works.

    Returns
    -------
    Verdict
        The choice is ``memory`` or ``pipe`` where nobody has a choice, else a way of communication of MPI.
    """
    numbers = {"ratio_comp_comm": ratio_comp_comm, "n_nodes": float(n_nodes)}
    if executor in ("serial", "threads"):
        return Verdict("results", "memory", "threads put results where they belong: nothing is sent", BEYOND, numbers)
    ratio = f"R_comp/comm = {digits(ratio_comp_comm)}"
    if executor != "mpi":
        reason = f"{ratio}: parts are sent while others are computed"
        return Verdict("results", "pipe", reason, BEYOND, numbers)
    if n_nodes == 1:
        reason = f"{ratio}; on one node ranks write into the memory of rank 0"
        return Verdict("results", "window", reason, BEYOND, numbers)
    if ratio_comp_comm > SCALES_AS_IT_IS:
        reason = f"{ratio} > 1: they may be gathered at the end"
        return Verdict("results", "gather", reason, f"{PAPER_2019}, heuristic 2.1", numbers)
    reason = f"{ratio} <= 1: put them into an array as they are made (global-arrays, where that is built)"
    return Verdict("results", "window", reason, f"{PAPER_2019}, heuristics 2.2 and 3.3", numbers)


def executor(n_nodes: int, n_workers: int, *, runs_python: bool = False, needs_order: bool = False) -> Verdict:
    """Say who should work.

    Parameters
    ----------
    n_nodes, n_workers : int
        Nodes that are used, and workers on all of them.
    runs_python : bool
        Whether frames go through Python's interpreter.
    needs_order : bool
        Whether a transformation needs each frame after the one before.
    """
    numbers = {"n_nodes": float(n_nodes), "n_workers": float(n_workers)}

    def verdict(choice: str, reason: str) -> Verdict:
        return Verdict("executor", choice, reason, BEYOND, numbers)

    if needs_order:
        return verdict("serial", "a transformation needs each frame after the one before: one worker reads them all")
    if n_workers == 1:
        return verdict("serial", "one worker is enough")
    if n_nodes > 1:
        return verdict("mpi", "several nodes: ranks of MPI")
    if runs_python:
        return verdict("processes", "frames go through Python, in which threads would take turns")
    return verdict("threads", "one node: threads share its memory, and start at once")


def schedule(access: str, n_blocks: int, n_workers: int) -> Verdict:
    """Say who should take which block.

    Parameters
    ----------
    access : str
        How workers come to the bytes.
    n_blocks, n_workers : int
        Blocks and workers.
    """
    numbers = {"n_blocks": float(n_blocks), "n_workers": float(n_workers)}
    if access == "segments":
        reason = "each rank opens the files of its own share, and no other"
        return Verdict("schedule", "static", reason, f"{PAPER_2019}, heuristic 3.2", numbers)
    who = "one worker" if n_workers == 1 else "whoever is free"
    reason = f"{n_blocks:,} blocks, taken by {who}" + ("; late ones are done twice" if n_workers > 1 else "")
    return Verdict("schedule", "demand", reason, BEYOND, numbers)


def trajectory_format(
    name: str,
    seconds: float,
    decompress: float,
    compute: float,
    plain_bytes: float,
    bytes_per_s: float = PLAIN_BYTES_PER_S,
) -> Verdict:
    """Say whether plain numbers would be read faster.

    Parameters
    ----------
    name : str
        The format that the trajectory has.
    seconds, decompress, compute : float
        What a frame takes one worker in all, to decompress, and to compute, s.
    plain_bytes : float
        Bytes of a frame of plain float32: 12 for each atom of the trajectory.
    bytes_per_s : float
        How fast a worker gets them, bytes/s; never faster than a core turns them into arrays.

    Returns
    -------
    Verdict
        The choice is ``keep``, or ``dcd``.
    """
    instead = plain_bytes / min(bytes_per_s, PLAIN_BYTES_PER_S) + compute
    numbers = {"seconds": seconds, "decompress": decompress, "seconds_instead": instead}
    spent = f"{name}: {_microseconds(decompress)} of {_microseconds(seconds)} µs a frame are decompression"
    plain = f"plain numbers (DCD) would take about {_microseconds(instead)}"
    if decompress > 0 and instead < PAYS * seconds:
        reason = f"{spent}, {plain}: convert what is analysed often, if its {plain_bytes / 1e3:,.0f} kB a frame fit"
        return Verdict("format", "dcd", reason, BEYOND, numbers)
    return Verdict("format", "keep", f"{spent}, {plain}" if decompress > 0 else f"{name} as it is", BEYOND, numbers)


def _microseconds(seconds: float) -> str:
    return f"{1e6 * seconds:.3g}" if seconds < 1e-3 else f"{1e6 * seconds:,.0f}"
