"""Timing of a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mdreel.foundation.formatting import digits
from mdreel.timing.bottleneck import Bottleneck, bottleneck_of
from mdreel.timing.observables import Observables, observables_of
from mdreel.timing.spans import COORDINATOR, KINDS, NO_BLOCK, SPAN, TASK
from mdreel.timing.stragglers import Straggler, stragglers_of, typical_seconds
from mdreel.timing.summary import SHORT_RUN_SECONDS, duration_text, idle_text, stragglers_text, workers_text
from mdreel.timing.time_shares import run_seconds, shares_in_words, shares_of, topology_seconds
from mdreel.timing.workers import Member

if TYPE_CHECKING:
    from mdreel.timing.limits import Limits


class Timing:
    """Timing of a run.

    Parameters
    ----------
    spans : ndarray, shape (n_spans,), SPAN
        Recorded spans.
    crew : mapping of int to Member, optional
        Process of each worker, and of `COORDINATOR`.
    tasks : ndarray, shape (n_tasks,), TASK, optional
        Tasks that were recorded by an external scheduler.
    missed : int
        Number of frames of a running simulation that the run missed.
    n_requested : int
        Number of workers that the user requested, or 0 for the default.

    Attributes
    ----------
    spans : ndarray, shape (n_spans,), SPAN
        Recorded spans with the fields kind, block, worker, start_ns, stop_ns, n_frames and n_bytes.
    crew : dict of int to Member
        Host, process and peak memory of each worker, and of `COORDINATOR`. It is empty if they were not recorded.
    tasks : ndarray, shape (n_tasks,), TASK
        Tasks as recorded by the Dask scheduler, with the fields first and end (blocks), worker, start_ns and stop_ns.
        The spans of a task's blocks have the same worker as the task.
    missed : int
        Number of frames of a running simulation that were removed from the channel before the run could read them.
    n_requested : int
        Number of workers that the user requested, or 0 for the default.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import DCD, PSF
    >>> timing = mdreel.RMSD(mda.Universe(PSF, DCD), select="name CA").run(n_workers=2).timing
    >>> timing.n_frames, len(timing.workers) <= 2
    (98, True)
    >>> round(sum(timing.shares.values()), 6)
    1.0
    """

    def __init__(
        self,
        spans: NDArray[np.void],
        crew: Mapping[int, Member] | None = None,
        tasks: NDArray[np.void] | None = None,
        missed: int = 0,
        n_requested: int = 0,
    ) -> None:
        self.spans = spans
        self.n_requested = n_requested
        self.crew = dict(crew or {})
        self.tasks = np.empty(0, TASK) if tasks is None else tasks
        self.missed = missed

    @classmethod
    def in_a_row(cls, timings: Iterable[Timing]) -> Timing:
        """Return the timing of consecutive runs, excluding the time between them."""
        moved = []
        since_ns, n_blocks = 0, 0
        for timing in timings:
            spans = timing.spans.copy()
            spans["start_ns"] += np.uint64(since_ns)
            spans["stop_ns"] += np.uint64(since_ns)
            spans["block"][spans["block"] != NO_BLOCK] += np.uint32(n_blocks)
            since_ns = int(spans["stop_ns"].max(initial=since_ns))
            n_blocks += timing.n_blocks
            moved.append(spans)
        return cls(np.concatenate([np.zeros(0, SPAN), *moved]))

    def preceded_by(self, kind: str, seconds: float) -> Timing:
        """Return the timing with an additional span of the caller before the run.

        Parameters
        ----------
        kind : str
            One of `KINDS`.
        seconds : float
            Duration of the span, in s.
        """
        taken_ns = np.uint64(round(1e9 * seconds))
        before = np.array([(KINDS.index(kind), NO_BLOCK, COORDINATOR, 0, taken_ns, 0, 0)], SPAN)
        spans, tasks = self.spans.copy(), self.tasks.copy()
        for table in (spans, tasks):
            for edge in ("start_ns", "stop_ns"):
                table[edge] += taken_ns
        return Timing(np.concatenate([before, spans]), self.crew, tasks, self.missed, self.n_requested)

    def without_topology(self) -> Timing:
        """Return the timing from the start of the run, excluding the time that was spent on loading the topology."""
        is_topology = (self.spans["worker"] == COORDINATOR) & (self.spans["kind"] == KINDS.index("topology"))
        spans, tasks = self.spans[~is_topology], self.tasks.copy()
        before_ns = np.uint64(round(1e9 * self.topology_seconds))
        if not len(spans) or any((table["start_ns"] < before_ns).any() for table in (spans, tasks)):
            return self
        for table in (spans, tasks):
            for edge in ("start_ns", "stop_ns"):
                table[edge] -= before_ns
        return Timing(spans, self.crew, tasks, self.missed, self.n_requested)

    @cached_property
    def wall_seconds(self) -> float:
        """Time from the first to the last span, including the time for loading the topology, in s."""
        return float(self.spans["stop_ns"].max(initial=0)) * 1e-9

    @cached_property
    def topology_seconds(self) -> float:
        """Time that the caller spent on loading the topology before the run, in s."""
        return topology_seconds(self.spans)

    @cached_property
    def run_seconds(self) -> float:
        """Time of the run, excluding the time that was spent on loading the topology, in s."""
        return run_seconds(self.spans)

    @cached_property
    def frames_per_second(self) -> float:
        """Number of frames per second of the run, or 0 if the run took no time."""
        return self.n_frames / self.run_seconds if self.run_seconds else 0.0

    @cached_property
    def bytes_per_second(self) -> float:
        """Number of bytes read from storage per second of the run, or 0 if the run took no time."""
        return self.n_bytes / self.run_seconds if self.run_seconds else 0.0

    @cached_property
    def shares(self) -> dict[str, float]:
        """Share of the run time for each kind of span (see `docs/explanation/timing.md`).

        The shares add up to 1.
        """
        return shares_of(self.spans)

    @cached_property
    def n_frames(self) -> int:
        """Number of frames that were analysed or written."""
        return max(int(self._of_kind(kind)["n_frames"].sum()) for kind in ("compute", "write"))

    @cached_property
    def n_bytes(self) -> int:
        """Number of bytes read from storage."""
        return int(self._of_kind("read")["n_bytes"].sum())

    @cached_property
    def peak_bytes(self) -> int:
        """Upper limit of the total anonymous memory of all processes, in bytes, or 0 if it was not recorded."""
        return sum({(own.host, own.process): own.peak_bytes for own in self.crew.values()}.values())

    @cached_property
    def workers(self) -> NDArray[np.uint32]:
        """Numbers of the workers, shape (n_workers,), uint32."""
        workers = self.spans["worker"]
        return np.unique(workers[workers != COORDINATOR]).astype(np.uint32)

    @cached_property
    def n_blocks(self) -> int:
        """Number of blocks."""
        blocks = self.spans["block"]
        blocks = blocks[blocks != NO_BLOCK]
        return int(blocks.max()) + 1 if len(blocks) else 0

    def seconds(self, kind: str | None = None) -> float:
        """Return the total time of all workers.

        Parameters
        ----------
        kind : str, optional
            One of `KINDS`. By default, all kinds.

        Returns
        -------
        float
            Time, in s.
        """
        return float(_durations(self.spans if kind is None else self._of_kind(kind)).sum())

    def per_worker(self, kind: str | None = None) -> NDArray[np.float64]:
        """Return the total time of each worker.

        Parameters
        ----------
        kind : str, optional
            One of `KINDS`. By default, all kinds except waiting.

        Returns
        -------
        ndarray, shape (n_workers,), float64
            Time of each of `workers`, in s.
        """
        spans = self._busy() if kind is None else self._of_kind(kind)
        spans = spans[spans["worker"] != COORDINATOR]
        places = np.searchsorted(self.workers, spans["worker"])
        return _sums(places, spans, len(self.workers))

    def per_block(self, kind: str | None = None) -> NDArray[np.float64]:
        """Return the total time of each block.

        Parameters
        ----------
        kind : str, optional
            One of `KINDS`. By default, all kinds except waiting.

        Returns
        -------
        ndarray, shape (n_blocks,), float64
            Time of each block, in s.
        """
        spans = self._busy() if kind is None else self._of_kind(kind)
        spans = spans[spans["block"] != NO_BLOCK]
        return _sums(spans["block"], spans, self.n_blocks)

    def worker_seconds(self) -> NDArray[np.float64]:
        """Time from the start of the first worker to the end of each worker, shape (n_workers,), float64, in s."""
        spans = self.spans[self.spans["worker"] != COORDINATOR]
        ends = np.zeros(len(self.workers), np.uint64)
        np.maximum.at(ends, np.searchsorted(self.workers, spans["worker"]), spans["stop_ns"])
        beginning = spans["start_ns"].min(initial=ends.max(initial=0))
        return np.asarray(ends - beginning, np.float64) * 1e-9

    @cached_property
    def observables(self) -> Observables:
        """Observables of each rank, as defined in the literature."""
        return observables_of(self.spans)

    @cached_property
    def straggling(self) -> tuple[Straggler, ...]:
        """Workers that took more than 1.5 times the median time, with the causes, starting with the slowest worker."""
        return stragglers_of(self.observables)

    @cached_property
    def bottleneck(self) -> Bottleneck:
        """Kind of span that took up most of the time."""
        return bottleneck_of(self.shares)

    def stragglers(self) -> NDArray[np.uint32]:
        """Numbers of the stragglers in ascending order, shape (n,), uint32; see `straggling` for their causes."""
        return np.array(sorted(straggler.rank for straggler in self.straggling), np.uint32)

    @property
    def is_short(self) -> bool:
        """Whether the run took less than 2 s, which is too short to determine a bottleneck."""
        return self.run_seconds < SHORT_RUN_SECONDS

    def summary(self) -> str:
        """Return a summary with three lines about the rates, the shares of time, and the bottleneck and stragglers.

        If the run took less than 2 s, the summary has only one line, because such a short run does not show what would
        limit a long run. Nevertheless, `bottleneck`, `shares` and `observables` are available for every run.
        """
        missed = f" ({self.missed:,} missed)" if self.missed else ""
        frames, n_workers = f"{self.n_frames:,} frames{missed}", len(self.workers)
        workers = workers_text(n_workers, self.crew, self.n_requested)
        workers += idle_text(n_workers, self.n_requested, self.n_blocks)
        rate = f"{digits(self.frames_per_second)} frames/s, {digits(self.bytes_per_second * 1e-9)} GB/s of file"
        topology = f"; topology {digits(self.topology_seconds)} s before" if self.topology_seconds else ""
        memory = f"; memory {self.peak_bytes / 2**20:,.0f} MiB" if self.peak_bytes else ""
        if self.is_short:
            return f"{duration_text(self.run_seconds)}; {frames} on {workers}, {rate}{topology}{memory}"
        typical = typical_seconds(self.observables)
        slowest = float(self.observables.t_own.max()) / typical if typical else 1.0
        first = f"{frames} in {digits(self.run_seconds)} s on {workers}: {rate}{topology}"
        stragglers = f"slowest worker {slowest:.2f}x the median; {stragglers_text(self.straggling)}"
        shares = "  ".join(shares_in_words(self.shares))
        return f"{first}\n{shares}\nbottleneck: {self.bottleneck.sentence}; {stragglers}{memory}"

    def table(self) -> str:
        """Return a text table with the time of each worker by kind, in ms."""
        head = "worker (ms)" + "".join(f"{kind:>12}" for kind in KINDS) + f"{'blocks':>12}"
        rows = [head]
        columns = {kind: self.per_worker(kind) for kind in KINDS}
        for i, worker in enumerate(self.workers):
            own = self.spans[self.spans["worker"] == worker]["block"]
            cells = "".join(f"{1e3 * columns[kind][i]:>12.3f}" for kind in KINDS)
            rows.append(f"{worker:>11}{cells}{len(np.unique(own[own != NO_BLOCK])):>12}")
        rest = self.spans[self.spans["worker"] == COORDINATOR]
        cells = "".join(f"{1e3 * _durations(rest[rest['kind'] == i]).sum():>12.3f}" for i in range(len(KINDS)))
        return "\n".join((*rows, f"{'caller':>11}{cells}"))

    def save(
        self,
        path: str | PathLike[str],
        *,
        environment: Mapping[str, Any] | None = None,
        limits: Limits | None = None,
        title: str = "",
        force: bool = False,
    ) -> None:
        """Write the timing to a file. If an error occurs, an existing file is not modified.

        Parameters
        ----------
        path : path
            The output file. Its extension determines the format. Use ``.jsonl`` or ``.parquet`` for files that
            `read_record` can read, and ``.trace.json`` (Perfetto), ``.otlp.json`` (OpenTelemetry) or ``.cali.json``
            (Hatchet) for viewers.
        environment : mapping, optional
            Environment of the run, as returned by `environment_of` before the run. By default, the current environment
            without files.
        limits : Limits, optional
            Limits of the machine, as returned by `measure_limits`.
        title : str
            Title of the run.
        force : bool
            Whether to replace an existing file.

        Raises
        ------
        UnsupportedError
            If the extension is unknown, or if the format requires a package that is not installed.
        OSError
            If the file exists and `force` is false, or if it cannot be written. No partial file is left behind.

        Examples
        --------
        >>> import MDAnalysis as mda
        >>> import mdreel
        >>> from mdreel.timing.files import read_record
        >>> from MDAnalysisTests.datafiles import DCD, PSF
        >>> timing = mdreel.RMSD(mda.Universe(PSF, DCD), select="name CA").run().timing
        >>> timing.save("spans.jsonl")
        >>> read_record("spans.jsonl").timing.n_frames
        98
        """
        from mdreel.timing.environment import environment_of
        from mdreel.timing.files import write_record
        from mdreel.timing.record import Record

        known = environment_of([]) if environment is None else dict(environment)
        write_record(Record(self, known, limits, title), path, force)

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        return f"<Timing of {self.n_frames:,} frames in {digits(self.run_seconds)} s>"

    def _of_kind(self, kind: str) -> NDArray[np.void]:
        return np.asarray(self.spans[self.spans["kind"] == KINDS.index(kind)])

    def _busy(self) -> NDArray[np.void]:
        return np.asarray(self.spans[self.spans["kind"] != KINDS.index("wait")])


def _durations(spans: NDArray[np.void]) -> NDArray[np.float64]:
    return np.asarray(spans["stop_ns"] - spans["start_ns"], np.float64) * 1e-9


def _sums(places: NDArray[np.integer], spans: NDArray[np.void], n_places: int) -> NDArray[np.float64]:
    """Add up the spans of each place."""
    sums = np.zeros(n_places)
    np.add.at(sums, places, _durations(spans))
    return sums
