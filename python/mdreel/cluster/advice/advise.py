"""Recommendations for an analysis, based on a short sample."""

from collections.abc import Sequence
from dataclasses import replace
from time import perf_counter

from mdreel._core import FrameSet, Source, Transformation
from mdreel.analysis.base.analysis import Analysis
from mdreel.analysis.base.one_pass import leader_of
from mdreel.analysis.transformations import transformed
from mdreel.cluster.advice import guidelines
from mdreel.cluster.advice.advice import Advice
from mdreel.cluster.advice.guidelines import Verdict
from mdreel.cluster.advice.model import cost_on, predict
from mdreel.cluster.advice.plan import Plan, blocks_of
from mdreel.cluster.advice.sample import (
    MOST_SECONDS,
    FrameCost,
    Sample,
    file_system_of,
    files_of,
    stripes_of,
    take_sample,
)
from mdreel.cluster.advice.target import Target, target_of
from mdreel.errors import MismatchError
from mdreel.execution.available_cores import available_processors
from mdreel.execution.blocks import Frames, refuse_growing, select_frames

ENOUGH = 1.05
"""Choose the smallest number of workers whose run time is at most this multiple of the shortest run time."""


def advise(
    analyses: Analysis | Sequence[Analysis],
    start: int | None = None,
    stop: int | None = None,
    step: int | None = None,
    frames: Frames | None = None,
    *,
    n_cores: int | None = None,
    n_nodes: int | None = None,
    file_system: str | None = None,
    n_workers: int | None = None,
    on_error: str = "raise",
    transformations: Sequence[Transformation] = (),
    opening: float = 0.0,
    most_seconds: float = MOST_SECONDS,
) -> Advice:
    """Recommend how to run one or more analyses in one pass, based on a short sample.

    Parameters
    ----------
    analyses : Analysis or sequence of Analysis
        The analyses. Their results are not modified.
    start, stop, step, frames, on_error, transformations
        See `Analysis.run`.
    n_cores, n_nodes : int, optional
        Number of cores per node, and number of nodes, of the target machine. By default, the values for this machine
        are used.
    file_system : {"local", "nfs", "lustre", "gpfs"}, optional
        File system on which the trajectory will be stored. By default, its current file system.
    n_workers : int, optional
        Number of workers. By default, the number that the model recommends.
    opening : float
        Time, in s, that was already spent on steps that every run has to repeat, such as reading the topology.
    most_seconds : float
        Time limit for the sample, in s.

    Returns
    -------
    Advice
        The recommendation. You can print it, or use its attributes ``plan``, ``verdicts`` and ``predictions``.

    Raises
    ------
    MismatchError
        If the target machine is invalid, or if it has fewer cores than the number of requested workers.
    UnsupportedError
        If the trajectory is still growing, or if the run time of an analysis does not depend on the number of frames.
    MdreelError, OSError
        See `Analysis.run`.

    Notes
    -----
    The guidelines are taken from Khoshlessan et al. 2019, section 8, and 2018, section 6. The model is described in
    ``docs/design/028-advice.md``. If the trajectory has no frame index yet, the function builds and saves one first.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> import mdreel
    >>> from mdreel.cluster.advice.advise import advise
    >>> from MDAnalysisTests.datafiles import DCD, PSF
    >>> advice = advise(mdreel.RMSD(mda.Universe(PSF, DCD), select="name CA"), n_cores=2)
    >>> advice.plan.n_workers <= 2
    True
    """
    several = [analyses] if isinstance(analyses, Analysis) else list(analyses)
    leader = leader_of(several)
    # Report errors in the machine before reading anything.
    target_of(n_cores, n_nodes, file_system or "nfs")
    begun = perf_counter()
    source = transformed(leader.open().with_on_error(on_error), transformations)
    refuse_growing(source, "advice and predictions")
    opening += perf_counter() - begun
    files = files_of(source)
    found, n_stripes = file_system_of(files), stripes_of(files)
    target = target_of(n_cores, n_nodes, file_system, found=found, n_stripes=n_stripes)
    selected = _selected(source, start, stop, step, frames)
    n_together = min(available_processors(), n_cores or available_processors())
    sample = take_sample(several, source, selected, n_together, files=files, opening=opening, most_seconds=most_seconds)
    return advice_of(sample, target, n_workers)


def _selected(source: Source, start: int | None, stop: int | None, step: int | None, frames: Frames | None) -> FrameSet:
    """Return the selected frames, and build a frame index if the trajectory has none."""
    selected = select_frames(source, start, stop, step, frames)
    if selected is None:
        source.check_end()
        selected = select_frames(source, 0, source.n_frames)
        assert selected is not None
    return selected


def advice_of(sample: Sample, target: Target, n_workers: int | None = None) -> Advice:
    """Recommend how to run the sampled analysis; see `advise`.

    Raises
    ------
    MismatchError
        If the number of requested workers exceeds the number of cores or the number of frames.
    """
    most = 1 if sample.needs_order else min(target.n_workers, sample.n_frames)
    if n_workers is not None and not 1 <= n_workers <= most:
        limit = "a transformation needs all frames in order" if sample.needs_order else f"{sample.n_frames:,} frames"
        message = f"{n_workers} workers were requested of {target}; at most {most} can work ({limit})"
        raise MismatchError(message)
    numbers = numbers_of_workers(target, most, n_workers)
    predictions = tuple(predict(sample, target, plan_of(sample, target, number)) for number in numbers)
    if n_workers is None:
        best = min(one.seconds for one in predictions)
        chosen = next(one for one in predictions if one.seconds <= ENOUGH * best)
    else:
        chosen = next(one for one in predictions if one.plan.n_workers == n_workers)
    transfer = guidelines.transfer(chosen.ratio_comp_comm, chosen.plan.n_nodes, chosen.plan.executor)
    if transfer.choice in ("gather", "window"):
        chosen = replace(chosen, plan=replace(chosen.plan, communication=transfer.choice))
    cost = cost_on(sample, target)
    verdicts = (
        guidelines.workload(cost.ratio_comp_io),
        _format(sample, target, cost),
        _access(sample, target, chosen.plan.n_nodes, chosen.plan.n_workers),
        _executor(sample, target, chosen.plan.n_nodes, chosen.plan.n_workers),
        guidelines.schedule(chosen.plan.access, chosen.plan.n_blocks, chosen.plan.n_workers),
        transfer,
    )
    return Advice(sample, target, cost, verdicts, predictions[0], chosen, predictions)


def numbers_of_workers(target: Target, most: int, wanted: int | None = None) -> list[int]:
    """Return the numbers of workers to compare: powers of two, whole nodes, all cores, and the requested number."""
    doubled = [2**power for power in range(most.bit_length())]
    of_a_node = [number for number in doubled if number < target.n_cores]
    of_nodes = [target.n_cores * number for number in doubled]
    numbers = {*of_a_node, *of_nodes, most, most if wanted is None else wanted}
    return sorted(number for number in numbers if number <= most)


def plan_of(sample: Sample, target: Target, n_workers: int) -> Plan:
    """Return the plan that the guidelines recommend for a number of workers."""
    n_nodes = -(-n_workers // target.n_cores)
    executor = _executor(sample, target, n_nodes, n_workers).choice
    if executor == "serial":
        n_workers = n_nodes = 1
    access = _access(sample, target, n_nodes, n_workers).choice
    must_split = access == "segments" and sample.n_files < n_workers
    n_files = n_workers if must_split else sample.n_files
    n_blocks = blocks_of(sample.n_frames, n_workers, sample.file_bytes, sample.row_bytes)
    if access == "segments":
        n_blocks = n_files
    elif sample.needs_order:
        n_blocks = 1
    schedule = guidelines.schedule(access, n_blocks, n_workers).choice
    return Plan(executor, n_workers, n_nodes, access, schedule, n_files, must_split, n_blocks)


def _executor(sample: Sample, target: Target, n_nodes: int, n_workers: int) -> Verdict:
    return guidelines.executor(
        n_nodes,
        n_workers,
        of_nodes=target.n_nodes,
        runs_python=sample.runs_python,
        needs_order=sample.needs_order,
    )


def _access(sample: Sample, target: Target, n_nodes: int, n_workers: int) -> Verdict:
    return guidelines.file_access(
        cost_on(sample, target).ratio_comp_io,
        n_nodes,
        n_workers,
        sample.n_files,
        of_nodes=target.n_nodes,
        is_hdf5=sample.format == "H5MD" and sample.n_files == 1,
        has_parallel_hdf5=sample.has_parallel_hdf5 and not sample.is_transformed,
    )


def _format(sample: Sample, target: Target, cost: FrameCost) -> Verdict:
    rate = guidelines.PLAIN_BYTES_PER_S if target.is_here else target.file_system.stream_bytes_per_s
    return guidelines.trajectory_format(
        sample.format, cost.seconds, cost.decompress, cost.compute, 12 * sample.n_atoms, rate
    )
