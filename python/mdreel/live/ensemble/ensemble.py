"""Ensembles of simulations, started and analysed by one process."""

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
from mdreel.foundation.atomic_files import replacing
from mdreel.foundation.untrusted_input import content_of, object_of
from mdreel.live.ensemble.configuration import STATE_FOLDER, EnsembleTable
from mdreel.live.ensemble.journal import Past, past_of
from mdreel.live.ensemble.replica import RUNNING, Replica
from mdreel.live.ensemble.replica_analyses import Inquiry
from mdreel.live.ensemble.result_tables import Tables
from mdreel.live.ensemble.shutdown import end_all

_LOOK_SECONDS = 0.05
"""How long to rest when nothing has come: rings have room for what comes meanwhile."""

_IDENTITY = "ensemble.json"
_MOST_IDENTITY = 16 << 20


@dataclass(frozen=True)
class Gathered:
    """What came of an ensemble, or of a part of it.

    Attributes
    ----------
    n_finished, n_failed : int
        Of the replicas that were to be run, how many have finished, and have failed.
    failures : tuple of str
        Of each that has failed, its label and why.
    tables : tuple of Path
        Tables of all replicas, where none of the whole ensemble is left to be run.
    """

    n_finished: int
    n_failed: int
    failures: tuple[str, ...]
    tables: tuple[Path, ...]


class Ensemble:
    """An ensemble.

    Parameters
    ----------
    table : EnsembleTable
        What is said of it.
    folder : Path
        The folder of the file that says it.
    inquiry : Inquiry
        The analyses of each replica.
    identity : dict
        What must not change between two runs of it, for what one has finished is not done again; as JSON has it.

    Attributes
    ----------
    replicas : tuple of Replica
        All of them.
    """

    def __init__(self, table: EnsembleTable, folder: Path, inquiry: Inquiry, identity: dict[str, Any]) -> None:
        self._table = table
        self._inquiry = inquiry
        self._identity = {"seed": table.seed, "format": table.format, "digits": len(table.label(0)), **identity}
        self._place = table.place(folder)
        self._results = table.place_of_results(folder)
        self.replicas = tuple(Replica(number, table, folder) for number in range(table.replicas))
        kept = self._place / STATE_FOLDER / "tables"
        self._tables = Tables(self._results, kept, table.format, {"ensemble": table.name})

    def run(
        self,
        numbers: Iterable[int] | None = None,
        *,
        retry: bool = False,
        told: Callable[[str], object] = lambda _: None,
    ) -> Gathered:
        """Run replicas until each has finished or failed; one that was run before goes on where it was.

        Parameters
        ----------
        numbers : iterable of int, optional
            Which; by default all.
        retry : bool
            Whether those that have failed are tried again.
        told : callable
            Is told what happens, in lines for people.

        Returns
        -------
        Gathered
            What came of them.

        Raises
        ------
        MismatchError
            If the ensemble is another one than the one that was begun; if a new replica finds its directory or channel
            in use; if a program cannot be started.
        StreamError
            If another manager has one of the replicas.
        OSError
            If journals or tables cannot be written.

        Notes
        -----
        Whatever ends it, KeyboardInterrupt for example, the replicas that run are asked to stop, and ended behind
        `grace` seconds: none is left running. Only SIGKILL leaves them, for the next run to end.
        """
        chosen = [self.replicas[number] for number in (range(len(self.replicas)) if numbers is None else numbers)]
        self._begin()
        try:
            for replica in chosen:
                replica.open(retry)
            self._run(chosen, told)
        except BaseException as error:
            self._end(chosen, error, told)
            raise
        for replica in chosen:
            replica.close()
        return self._gather(chosen, told)

    def _begin(self) -> None:
        """Make the ensemble's own folder, and check that it is of this ensemble."""
        state = self._place / STATE_FOLDER
        state.mkdir(parents=True, exist_ok=True)
        self._results.mkdir(parents=True, exist_ok=True)
        path = state / _IDENTITY
        try:
            was = object_of(content_of(path, _MOST_IDENTITY), _MOST_IDENTITY)
        except FileNotFoundError:
            with suppress(FileExistsError), replacing(path) as temporary:  # of two that begin, one comes first
                temporary.write_text(json.dumps(self._identity), encoding="utf-8")
            return
        except FormatError as error:
            raise FormatError(f"{path}: no identity of an ensemble: {error}") from None
        now = json.loads(json.dumps(self._identity))
        for name in {**was, **now}:
            if was.get(name) != now.get(name):
                found = f"{name} was {was.get(name)!r} when it was begun, and is {now.get(name)!r}"
                raise MismatchError(f"{self._place}: the ensemble there is another one: {found}")

    def _run(self, chosen: Sequence[Replica], told: Callable[[str], object]) -> None:
        waiting = deque(replica for replica in chosen if not replica.past.is_over)
        running: list[Replica] = []
        n_over = len(chosen) - len(waiting)
        if n_over:
            told(f"{n_over} of {len(chosen)} replicas have been done before")
        while waiting or running:
            while waiting and len(running) < self._table.n_at_once:
                running.append(waiting.popleft())
                told(f"{running[-1].label} {running[-1].start(self._inquiry)}")
            has_come = False
            for replica in tuple(running):
                has_come = replica.look() or has_come
                message = replica.settle(self._inquiry, self._tables)
                if message is not None:
                    told(f"{replica.label} {message}")
                if not replica.is_running:
                    running.remove(replica)
                    if not replica.past.is_over:
                        waiting.appendleft(replica)  # before those that nobody has started yet
            if not has_come:
                sleep(_LOOK_SECONDS)

    def _end(self, chosen: Sequence[Replica], error: BaseException, told: Callable[[str], object]) -> None:
        """End what runs, after an error or Ctrl-C, and say so in the journals."""
        running = [replica for replica in chosen if replica.is_running]
        # What was interrupted would keep its channel, whose simulation waits for us when its ring is full.
        clear_frames(error.__traceback__)
        reason = " ".join(str(error).split()) or type(error).__name__
        try:
            if running:
                told(f"stopping {len(running)} replicas")
                end_all(running, self._table.grace)
        finally:
            for replica in chosen:
                replica.leave(f"the ensemble was ended: {reason}")

    def _gather(self, chosen: Sequence[Replica], told: Callable[[str], object]) -> Gathered:
        """Write the tables of all replicas, if each of the whole ensemble has been done."""
        pasts = {replica.label: past_of(replica.journal_path) for replica in self.replicas}
        tables: list[Path] = []
        n_left = sum(not past.is_over for past in pasts.values())
        if not n_left:
            finished = [label for label, past in pasts.items() if past.event == "finished"]
            if self._table.joined:
                tables += self._tables.write_joined(finished, self._inquiry)
            facts = [
                {
                    "replica": int(label),
                    "finished": int(past.event == "finished"),
                    "deaths": past.n_deaths,
                    "frames": past.n_frames,
                }
                for label, past in pasts.items()
            ]
            tables.append(self._tables.write_summary(facts, finished, self._inquiry))
        elif len(chosen) < len(self.replicas):
            told(f"{n_left} replicas of other parts are left: the tables of all come with the last of them")
        events = [(replica.label, pasts[replica.label]) for replica in chosen]
        failures = tuple(f"{label}: {past.message}" for label, past in events if past.event == "failed")
        return Gathered(len(chosen) - len(failures), len(failures), failures, tuple(tables))


def state_of(replica: Replica) -> tuple[str, Past]:
    """Return the state of a replica for who looks at it and takes no part, and what its journal tells.

    Returns
    -------
    tuple of str and Past
        ``waiting``, ``running``, ``lost`` (its program has gone, and nobody has said so), ``finished`` or ``failed``;
        and the past.
    """
    past = past_of(replica.journal_path)
    if past.event in ("finished", "failed"):
        return past.event, past
    if past.event in RUNNING:
        # Of another host nobody knows.
        is_lost = past.is_gone or (past.process is not None and not past.process.is_alive)
        return ("lost" if is_lost else "running"), past
    return "waiting", past
