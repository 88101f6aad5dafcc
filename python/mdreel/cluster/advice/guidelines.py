"""Published guidelines, as functions of measured ratios.

Sources
-------
Khoshlessan et al. 2019: "Parallel performance of molecular dynamics trajectory analysis", section 8.
Khoshlessan et al. 2018: "Applications and performance of HPC resources for parallel analysis ...", section 6.
"""

from dataclasses import dataclass, field

from mdreel.foundation.formatting import digits
from mdreel.timing.guidelines import COMPUTE_BOUND, NEGLIGIBLE_COMMUNICATION

PAYS = 0.5
"""Recommend a different format if reading it takes less than this share of the current time per frame."""

PLAIN_BYTES_PER_S = 6e9
"""Rate at which a core copies float32 from the page cache into arrays, in bytes/s (measured in `lab/benchmarks/`)."""

PAPER_2019 = "Khoshlessan et al. 2019, section 8"
BEYOND = "beyond the papers"


@dataclass(frozen=True)
class Verdict:
    """Recommendation from a guideline, with the numbers on which it is based.

    Attributes
    ----------
    subject : str
        Subject of the recommendation.
    choice : str
        The recommendation as a single word.
    reason : str
        The reason as a single sentence.
    source : str
        The paper and section of the guideline.
    numbers : dict of str to float
        Numbers on which the recommendation is based.
    """

    subject: str
    choice: str
    reason: str
    source: str
    numbers: dict[str, float] = field(default_factory=dict)


def workload(ratio_comp_io: float) -> Verdict:
    """Determine whether reading or computing limits a task (heuristic 1).

    Parameters
    ----------
    ratio_comp_io : float
        R_comp/io of the serial run.
    """
    numbers = {"ratio_comp_io": ratio_comp_io}
    if ratio_comp_io >= COMPUTE_BOUND:
        reason = f"R_comp/io = {digits(ratio_comp_io)} >= 1: computing takes longer than reading"
        return Verdict("bound by", "compute", reason, f"{PAPER_2019}, heuristic 1", numbers)
    reason = f"R_comp/io = {digits(ratio_comp_io)} < 1: reading and decompressing take longer than computing"
    return Verdict("bound by", "reading", reason, f"{PAPER_2019}, heuristic 1", numbers)


def file_access(
    ratio_comp_io: float,
    n_nodes: int,
    n_workers: int,
    n_files: int = 1,
    *,
    of_nodes: int = 1,
    is_hdf5: bool = False,
    has_parallel_hdf5: bool = False,
) -> Verdict:
    """Recommend how workers should access the trajectory (heuristics 2 and 3).

    Parameters
    ----------
    ratio_comp_io : float
        R_comp/io of the serial run.
    n_nodes, n_workers : int
        Number of nodes, and total number of workers on all nodes.
    n_files : int
        Number of files of the trajectory.
    of_nodes : int
        Number of nodes of the target machine. The plan can use fewer nodes.
    is_hdf5 : bool
        Whether the trajectory is a single H5MD file.
    has_parallel_hdf5 : bool
        Whether it can be read with parallel HDF5.

    Returns
    -------
    Verdict
        The choice is a value of the parameter ``access`` of `Analysis.run`: ``shared``, ``chain``, ``segments`` or
        ``hdf5-independent``.
    """
    numbers = {"ratio_comp_io": ratio_comp_io, "n_nodes": float(n_nodes), "n_workers": float(n_workers)}
    numbers["n_files"] = float(n_files)
    as_it_is = "shared" if n_files == 1 else "chain"
    ratio = f"R_comp/io = {digits(ratio_comp_io)}"
    if ratio_comp_io >= COMPUTE_BOUND:
        reason = f"{ratio} >= 1: workers can share one file"
        return Verdict("file access", as_it_is, reason, f"{PAPER_2019}, heuristic 2", numbers)
    if n_nodes == 1:
        reason = f"{ratio} < 1, but {_single_node(of_nodes)}: workers open the file once and read whole blocks"
        return Verdict("file access", as_it_is, reason, BEYOND, numbers)
    avoid = f"{ratio} < 1 on {n_nodes} nodes, so avoid a single shared file"
    if is_hdf5 and has_parallel_hdf5:
        reason = f"{avoid}; ranks can open this HDF5 file together"
        return Verdict("file access", "hdf5-independent", reason, f"{PAPER_2019}, heuristic 3.1", numbers)
    how = "each rank reads its own segments" if n_files >= n_workers else f"split it into {n_workers} segments first"
    return Verdict("file access", "segments", f"{avoid}: {how}", f"{PAPER_2019}, heuristic 3.2", numbers)


def transfer(ratio_comp_comm: float, n_nodes: int, executor: str) -> Verdict:
    """Recommend how workers should send their results (heuristics 2.1, 2.2 and 3.3).

    Parameters
    ----------
    ratio_comp_comm : float
        Predicted R_comp/comm.
    n_nodes : int
        Number of nodes.
    executor : str
        The executor.

    Returns
    -------
    Verdict
        The choice is one of the communication methods of the MPI executor. For other executors, it is ``memory`` or
        ``pipe``.
    """
    numbers = {"ratio_comp_comm": ratio_comp_comm, "n_nodes": float(n_nodes)}
    if executor in ("serial", "threads"):
        return Verdict("results", "memory", "threads write results in place, without messages", BEYOND, numbers)
    ratio = f"R_comp/comm = {digits(ratio_comp_comm)}"
    if executor != "mpi":
        reason = f"{ratio}: workers send results while others compute"
        return Verdict("results", "pipe", reason, BEYOND, numbers)
    if n_nodes == 1:
        reason = f"{ratio}: on one node, ranks write into the memory of rank 0"
        return Verdict("results", "window", reason, BEYOND, numbers)
    if ratio_comp_comm > NEGLIGIBLE_COMMUNICATION:
        reason = f"{ratio} > 1: ranks can gather results at the end"
        return Verdict("results", "gather", reason, f"{PAPER_2019}, heuristic 2.1", numbers)
    reason = f"{ratio} <= 1: ranks write results into a shared array (global-arrays, if it is built)"
    return Verdict("results", "window", reason, f"{PAPER_2019}, heuristics 2.2 and 3.3", numbers)


def executor(
    n_nodes: int, n_workers: int, *, of_nodes: int = 1, runs_python: bool = False, needs_order: bool = False
) -> Verdict:
    """Recommend an executor.

    Parameters
    ----------
    n_nodes, n_workers : int
        Number of nodes, and total number of workers on all nodes.
    of_nodes : int
        Number of nodes of the target machine. The plan can use fewer nodes.
    runs_python : bool
        Whether each frame is processed by the Python interpreter.
    needs_order : bool
        Whether a transformation needs all frames in order.
    """
    numbers = {"n_nodes": float(n_nodes), "n_workers": float(n_workers)}

    def verdict(choice: str, reason: str) -> Verdict:
        return Verdict("executor", choice, reason, BEYOND, numbers)

    if needs_order:
        return verdict("serial", "a transformation needs all frames in order, so one worker reads them all")
    if n_workers == 1:
        return verdict("serial", "one worker is enough")
    if n_nodes > 1:
        return verdict("mpi", "several nodes need MPI")
    if runs_python:
        return verdict("processes", "Python code processes each frame, so threads would wait for the interpreter lock")
    return verdict("threads", f"{_single_node(of_nodes)}, threads share memory and start at once")


def schedule(access: str, n_blocks: int, n_workers: int) -> Verdict:
    """Recommend how to assign blocks to workers.

    Parameters
    ----------
    access : str
        How workers access the trajectory.
    n_blocks, n_workers : int
        Numbers of blocks and workers.
    """
    numbers = {"n_blocks": float(n_blocks), "n_workers": float(n_workers)}
    if access == "segments":
        reason = "each rank opens only the files of its own share"
        return Verdict("schedule", "static", reason, f"{PAPER_2019}, heuristic 3.2", numbers)
    reason = f"one worker takes {n_blocks:,} blocks"
    if n_workers > 1:
        reason = f"free workers take the next of {n_blocks:,} blocks and repeat late ones"
    return Verdict("schedule", "demand", reason, BEYOND, numbers)


def trajectory_format(
    name: str,
    seconds: float,
    decompress: float,
    compute: float,
    plain_bytes: float,
    bytes_per_s: float = PLAIN_BYTES_PER_S,
) -> Verdict:
    """Determine whether an uncompressed format would be faster.

    Parameters
    ----------
    name : str
        Format of the trajectory.
    seconds, decompress, compute : float
        Total time, decompression time and computing time per frame for one worker, in s.
    plain_bytes : float
        Size of an uncompressed frame in bytes, which is 12 bytes per atom of the trajectory.
    bytes_per_s : float
        Rate at which a worker reads, in bytes/s. It is limited by the rate at which a core can copy float32 values.

    Returns
    -------
    Verdict
        The choice is either ``keep`` or ``dcd``.
    """
    instead = plain_bytes / min(bytes_per_s, PLAIN_BYTES_PER_S) + compute
    numbers = {"seconds": seconds, "decompress": decompress, "seconds_instead": instead}
    spent = f"{name}: {_microseconds(decompress)} of {_microseconds(seconds)} µs per frame is decompression"
    plain = f"uncompressed frames (DCD) would take about {_microseconds(instead)}"
    if decompress > 0 and instead < PAYS * seconds:
        reason = f"{spent}, {plain}: convert files that you analyse often, if {plain_bytes / 1e3:,.0f} kB per frame fit"
        return Verdict("format", "dcd", reason, BEYOND, numbers)
    return Verdict(
        "format", "keep", f"{spent}, {plain}" if decompress > 0 else f"{name} is not compressed", BEYOND, numbers
    )


def _single_node(of_nodes: int) -> str:
    return "on one node" if of_nodes == 1 else f"on the single node (of {of_nodes}) that the plan uses"


def _microseconds(seconds: float) -> str:
    return f"{1e6 * seconds:.3g}" if seconds < 1e-3 else f"{1e6 * seconds:,.0f}"
