"""Ensembles of simulations, whose replicas are run and analysed by a single process."""

import json
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import sleep
from traceback import clear_frames
from typing import Any

from mdreel.errors import FormatError, MismatchError
from mdreel.execution.executors.reraise_signals import postpone_signals
from mdreel.foundation.atomic_files import replacing
from mdreel.foundation.untrusted_input import content_of, object_of
from mdreel.live.ensemble.configuration import STATE_FOLDER, EnsembleTable
from mdreel.live.ensemble.journal import ReplicaHistory, read_history
from mdreel.live.ensemble.replica import RUNNING, Replica
from mdreel.live.ensemble.replica_analyses import ReplicaAnalyses
from mdreel.live.ensemble.result_tables import ResultTables
from mdreel.live.ensemble.shutdown import end_all

_POLL_SECONDS = 0.05
"""Time to sleep if no replica has new frames, in s. In the meantime, the rings buffer new frames."""

_IDENTITY = "ensemble.json"
_MOST_IDENTITY = 16 << 20


@dataclass(frozen=True)
class EnsembleOutcome:
    """Outcome of an ensemble, or of a part of it.

    Attributes
    ----------
    n_finished, n_failed : int
        Numbers of selected replicas that have finished and that have failed.
    failures : tuple of str
        Label and reason of each failure.
    tables : tuple of Path
        Tables of the whole ensemble. The tuple is empty as long as any replica has not been run.
    """

    n_finished: int
    n_failed: int
    failures: tuple[str, ...]
    tables: tuple[Path, ...]


class Ensemble:
    """Ensemble of replicas of a simulation.

    Parameters
    ----------
    table : EnsembleTable
        Description of the ensemble.
    folder : Path
        Folder that contains the ensemble file.
    analyses : ReplicaAnalyses
        Analyses of each replica.
    identity : dict
        Settings that must not change between two runs, because finished replicas are not run again. They must be
        JSON-compatible.

    Attributes
    ----------
    replicas : tuple of Replica
        All replicas.
    """

    def __init__(self, table: EnsembleTable, folder: Path, analyses: ReplicaAnalyses, identity: dict[str, Any]) -> None:
        self._table = table
        self._analyses = analyses
        self._identity = {"seed": table.seed, "format": table.format, "digits": len(table.label(0)), **identity}
        self._place = table.directory_path(folder)
        self._results = table.results_path(folder)
        self.replicas = tuple(Replica(number, table, folder) for number in range(table.replicas))
        kept = self._place / STATE_FOLDER / "tables"
        self._tables = ResultTables(self._results, kept, table.format, {"ensemble": table.name})

    def run(
        self,
        numbers: Iterable[int] | None = None,
        *,
        retry: bool = False,
        report: Callable[[str], object] = lambda _: None,
    ) -> EnsembleOutcome:
        """Run replicas until each of them has finished or failed. Replicas from an earlier run are continued.

        Parameters
        ----------
        numbers : iterable of int, optional
            Numbers of the replicas to run. By default, all replicas.
        retry : bool
            Whether to run failed replicas again.
        report : callable
            Function that is called with a line of text about each event.

        Returns
        -------
        EnsembleOutcome
            Outcome of the replicas.

        Raises
        ------
        MismatchError
            If the settings differ from an earlier run, if the directory or the channel of a new replica is in
            use, or if a program cannot be started.
        StreamError
            If another manager is running one of the replicas.
        OSError
            If journals or tables cannot be written.

        Notes
        -----
        After an error or KeyboardInterrupt, running replicas are asked to stop, and are terminated after `grace`
        seconds. Replicas continue to run only if the manager is killed with SIGKILL. In this case, the next run
        terminates them.
        """
        chosen = [self.replicas[number] for number in (range(len(self.replicas)) if numbers is None else numbers)]
        self._begin()
        try:
            for replica in chosen:
                replica.open(retry)
            self._run(chosen, report)
        except BaseException as error:
            self._end(chosen, error, report)
            raise
        for replica in chosen:
            replica.close()
        return self._gather(chosen, report)

    def _begin(self) -> None:
        """Create the folder of the ensemble, or check that an existing one belongs to this ensemble."""
        state = self._place / STATE_FOLDER
        state.mkdir(parents=True, exist_ok=True)
        self._results.mkdir(parents=True, exist_ok=True)
        path = state / _IDENTITY
        try:
            was = object_of(content_of(path, _MOST_IDENTITY), _MOST_IDENTITY)
        except FileNotFoundError:
            with suppress(FileExistsError), replacing(path) as temporary:  # another manager may start at the same time
                temporary.write_text(json.dumps(self._identity), encoding="utf-8")
            return
        except FormatError as error:
            raise FormatError(f"invalid identity of an ensemble: {error}", path=path) from None
        now = json.loads(json.dumps(self._identity))
        for name in {**was, **now}:
            if was.get(name) != now.get(name):
                found = f"{name} was {was.get(name)!r} when it was started and is now {now.get(name)!r}"
                raise MismatchError(f"{self._place}: this folder belongs to another ensemble: {found}")

    def _run(self, chosen: Sequence[Replica], report: Callable[[str], object]) -> None:
        waiting = deque(replica for replica in chosen if not replica.history.is_over)
        running: list[Replica] = []
        n_over = len(chosen) - len(waiting)
        if n_over:
            report(f"{n_over} of {len(chosen)} replicas were done before")
        while waiting or running:
            while waiting and len(running) < self._table.n_at_once:
                running.append(waiting.popleft())
                report(f"{running[-1].label} {running[-1].start(self._analyses)}")
            has_come = False
            for replica in tuple(running):
                has_come = replica.advance() or has_come
                message = replica.settle(self._analyses, self._tables)
                if message is not None:
                    report(f"{replica.label} {message}")
                if not replica.is_running:
                    running.remove(replica)
                    if not replica.history.is_over:
                        waiting.appendleft(replica)  # restart it before new replicas are started
            if not has_come:
                sleep(_POLL_SECONDS)

    def _end(self, chosen: Sequence[Replica], error: BaseException, report: Callable[[str], object]) -> None:
        """End running replicas after an error or Ctrl-C, and record this in the journals."""
        running = [replica for replica in chosen if replica.is_running]
        reason = " ".join(str(error).split()) or type(error).__name__
        try:
            # Frames of the traceback would keep channels open, and full rings would block the simulations.
            with postpone_signals():
                clear_frames(error.__traceback__)
            if running:
                report(f"stopping {len(running)} replicas")
                end_all(running, self._table.grace)
        finally:
            for replica in chosen:
                replica.leave(f"the ensemble was ended: {reason}")

    def _gather(self, chosen: Sequence[Replica], report: Callable[[str], object]) -> EnsembleOutcome:
        """Write the tables of the ensemble if no replica is left to run."""
        pasts = {replica.label: read_history(replica.journal_path) for replica in self.replicas}
        tables: list[Path] = []
        n_left = sum(not history.is_over for history in pasts.values())
        if not n_left:
            finished = [label for label, history in pasts.items() if history.event == "finished"]
            if self._table.joined:
                tables += self._tables.write_joined(finished, self._analyses)
            facts = [
                {
                    "replica": int(label),
                    "finished": int(history.event == "finished"),
                    "deaths": history.n_deaths,
                    "frames": history.n_frames,
                }
                for label, history in pasts.items()
            ]
            tables.append(self._tables.write_summary(facts, finished, self._analyses))
        elif len(chosen) < len(self.replicas):
            report(f"{n_left} replicas of other parts are left; the last part writes the tables of all replicas")
        events = [(replica.label, pasts[replica.label]) for replica in chosen]
        failures = tuple(f"{label}: {history.message}" for label, history in events if history.event == "failed")
        return EnsembleOutcome(len(chosen) - len(failures), len(failures), failures, tuple(tables))


def replica_state(replica: Replica) -> tuple[str, ReplicaHistory]:
    """Return the state and the history of a replica without taking part in the run.

    Returns
    -------
    tuple of str and ReplicaHistory
        The state, which is ``waiting``, ``running``, ``lost`` (if its program has disappeared, but the journal has no
        entry about it), ``finished`` or ``failed``, and the history from the journal.
    """
    history = read_history(replica.journal_path)
    if history.event in ("finished", "failed"):
        return history.event, history
    if history.event in RUNNING:
        # A process on another host cannot be checked.
        is_lost = history.is_gone or (history.process is not None and not history.process.is_alive)
        return ("lost" if is_lost else "running"), history
    return "waiting", history
