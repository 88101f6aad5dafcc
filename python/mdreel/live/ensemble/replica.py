"""Replica of an ensemble, including its directory, channel, program and analyses."""

import gc
import os
import shutil
from contextlib import suppress
from pathlib import Path
from time import monotonic

from mdreel.cluster.shell import THREADS
from mdreel.errors import MdreelError, MismatchError
from mdreel.execution.executors.reraise_signals import postpone_signals
from mdreel.live.channels.channel import Channel
from mdreel.live.channels.directory import channel_path, make_folder_for
from mdreel.live.channels.status import Status
from mdreel.live.ensemble.configuration import STATE_FOLDER, EnsembleTable
from mdreel.live.ensemble.journal import ENDING, Journal, ReplicaHistory
from mdreel.live.ensemble.replica_analyses import ReplicaAnalyses, ReplicaObserver
from mdreel.live.ensemble.replica_process import Program, describe_status, end_leftover, end_stray
from mdreel.live.ensemble.result_tables import ResultTables

OUTPUT = "output.log"
"""File in a replica's directory to which the output of its program is appended."""

RUNNING = ("starting", "started", "observed")
"""Possible last events of a running replica."""

_ENDED = ("finished", "stopped", "failed")
_OF_OPENMM = "OPENMM_CPU_THREADS"


class Replica:
    """Replica of an ensemble, controlled by one manager.

    Parameters
    ----------
    number : int
        Number of the replica, from 0.
    table : EnsembleTable
        Description of the ensemble.
    folder : Path
        Folder that contains the ensemble file.

    Attributes
    ----------
    number : int
        Number of the replica.
    label : str
        Number with leading zeros.
    directory, channel : Path
        Working directory of the program, and directory of the channel.
    journal_path : Path
        Path of the journal.
    """

    def __init__(self, number: int, table: EnsembleTable, folder: Path) -> None:
        self.number = number
        self.label = table.label(number)
        place = table.directory_path(folder)
        self.directory = place / self.label
        self.channel = channel_path(f"{table.name}-{self.label}")
        self.journal_path = place / STATE_FOLDER / f"{self.label}{ENDING}"
        self._table = table
        self._folder = folder.absolute()
        self._journal: Journal | None = None
        self._program: Program | None = None
        self._observer: ReplicaObserver | None = None
        self._has_hung = self._is_to_begin_anew = False
        self._n_frames = 0

    @property
    def history(self) -> ReplicaHistory:
        """History of the replica from its journal."""
        return self._require_open().history

    @property
    def is_running(self) -> bool:
        """Whether the program is running, or published frames still have to be analysed."""
        return self._program is not None

    @property
    def process_has_ended(self) -> bool:
        """Whether the program has ended."""
        return self._program is None or self._program.status() is not None

    def open(self, retry: bool = False) -> None:
        """Lock the replica, and terminate its program if a manager that was killed has left it running.

        If `retry` is true, a failed replica is run again.

        Raises
        ------
        StreamError
            If another manager is running the replica.
        MismatchError
            If the replica is new, but its directory or channel is already in use.
        """
        self._journal = Journal(self.journal_path)
        history = self.history
        self._n_frames = history.n_frames
        if history.event is None:
            self._check_new()
        elif history.event == "failed" and retry:
            self._say("retried", "tried again")
        elif history.event in RUNNING:
            if history.event == "starting":  # the manager was killed before it recorded the process
                was = end_stray("MDREEL_DIRECTORY", str(self.directory))
            else:
                was = history.process is not None and end_leftover(history.process)
            self._say("interrupted", "its manager was lost" + (", and its program ended" if was else ""))

    def start(self, analyses: ReplicaAnalyses) -> str:
        """Start the program, from the checkpoint if possible, and return a description.

        Raises
        ------
        MismatchError
            If the program cannot be started.
        """
        is_first = self.history.event is None
        how = self._prepare(analyses)
        command = self._table.command if how is None else self._table.restart
        assert command is not None
        facts = self._facts()
        words = [word.format_map(facts) for word in command]
        message = how or ("started" if is_first else "starts again")
        self._say("starting", message, is_anew=how is None)
        self.directory.mkdir(parents=True, exist_ok=True)
        make_folder_for(self.channel)
        try:
            self._program = Program(words, self.directory, self._environment(facts), self.directory / OUTPUT)
        except OSError as error:
            what = "command" if how is None else "restart"
            raise MismatchError(f"{what}: {words[0]} cannot be started: {error.strerror}") from error
        assert self._observer is not None
        self._observer.heard_at = monotonic()
        self._has_hung = False
        self._say("started", message, process=self._program.process, is_anew=how is None)
        return message

    def advance(self) -> bool:
        """Analyse new frames, and return whether there were any."""
        assert self._observer is not None
        has_come = self._observer.advance()
        self._n_frames = self._observer.n_frames
        step = self._observer.first_step
        if step is not None and self.history.first_step != step:
            self._say("observed", f"the first frame has step {step}", first_step=step)
        return has_come

    def settle(self, analyses: ReplicaAnalyses, tables: ResultTables) -> str | None:
        """Handle a program that has ended or hangs, or whose analysis has failed. Return a description, or None."""
        program, observer = self._program, self._observer
        assert program is not None
        assert observer is not None
        if program.status() is None:
            self._end_if_hopeless(program, observer)
        status = program.status()
        if status is None:
            return None
        state = self._state_of_channel()
        if state in _ENDED and not observer.has_ended:
            return None  # some frames are still to be analysed
        is_wanted_end = observer.has_all or state == "finished" or (state == "stopped" and status == 0)
        if observer.is_over and is_wanted_end:
            return self._finish(observer, analyses, tables, status)
        return self._end_otherwise(observer, status, state)

    def terminate(self) -> None:
        """Send SIGTERM to the program."""
        if self._program is not None:
            self._program.terminate()

    def leave(self, reason: str) -> None:
        """Kill the program if it is running, and release the replica for a later run."""
        if self._program is not None:
            self._program.kill()
            self._say("interrupted", reason)
            self._program = None
        self.close()

    def close(self) -> None:
        """Leave the channel and close the journal."""
        self.leave_channel()
        if self._journal is not None:
            self._journal.close()
            self._journal = None

    def leave_channel(self) -> None:
        """Leave the channel, so that the analyses no longer block the simulation."""
        if self._observer is not None:
            self._observer.close()
            self._observer = None

    # --- Actions ----------------------------------------------------------------------------------------------------

    def _prepare(self, analyses: ReplicaAnalyses) -> str | None:
        """Prepare a start. Return a description if the program continues, or None if it starts from the beginning."""
        checkpoint, first = self._checkpoint, self.history.first_step
        has_checkpoint = checkpoint is not None and checkpoint.exists() and first is not None
        observer = self._observer
        if has_checkpoint and observer is not None and observer.is_waiting:
            return "continues from its checkpoint"
        if observer is not None:
            del observer
            with postpone_signals():  # Python suppresses an exception that is raised while an object is destroyed
                self.leave_channel()
                gc.collect()  # remaining references to the earlier analyses would keep slots of the ring
        if has_checkpoint and self._has_staging() and not self._is_to_begin_anew:
            self._observer = ReplicaObserver(self.channel, analyses, self._epoch(), first)
            return "continues from its checkpoint; its analyses start again from staging"
        self._clear()
        self._is_to_begin_anew = False
        self._observer = ReplicaObserver(self.channel, analyses)
        return None

    def _end_if_hopeless(self, program: Program, observer: ReplicaObserver) -> None:
        """Kill a program that hangs or whose analyses have failed."""
        if observer.error is not None and self._state_of_channel() != "failed":
            program.kill()
        patience = self._table.patience
        if patience is not None and not observer.has_all and monotonic() - observer.heard_at > patience:
            self._has_hung = True
            program.kill()

    def _end_otherwise(self, observer: ReplicaObserver, status: int, state: str) -> str:
        if observer.lacks_frames:
            self._is_to_begin_anew = True
            return self._die(status, state, str(observer.error))
        if observer.error is not None and state != "failed":
            return self._fail(f"its analyses have failed: {_one_line(observer.error)}")
        return self._die(status, state)

    def _finish(self, observer: ReplicaObserver, analyses: ReplicaAnalyses, tables: ResultTables, status: int) -> str:
        tables.write_replica(self.label, analyses, observer.found)
        message = f"finished with {observer.n_frames:,} frames"
        if status:
            message += f"; then its program ended with {describe_status(status)}"
        self._say("finished", message)
        self._program = None
        self.leave_channel()
        self._remove_channel()
        return message

    def _die(self, status: int, state: str, why: str = "") -> str:
        if self._has_hung:
            why = f"it was ended because it published no frame for {self._table.patience:g} s"
        why = why or f"ended with {describe_status(status)}, its channel {state}, after {self._n_frames:,} frames"
        self._say("hung" if self._has_hung else "died", why)
        self._program = None
        if self.history.n_deaths > self._table.restarts:
            again = f"it was restarted {self._table.restarts} times"
            return self._fail(f"{why}; {again}; see its output in {self.directory / OUTPUT}")
        return why

    def _fail(self, message: str) -> str:
        self._program = None
        self._say("failed", message)
        self.leave_channel()
        self._remove_channel()
        return f"failed: {message}"

    # --- State ------------------------------------------------------------------------------------------------------

    @property
    def _checkpoint(self) -> Path | None:
        return None if self._table.checkpoint is None else self.directory / self._table.checkpoint

    @property
    def _staging(self) -> Path:
        return self.directory / "staging"

    def _has_staging(self) -> bool:
        return self._staging.is_dir() or (self.channel / "staging").exists()

    def _facts(self) -> dict[str, str]:
        return {
            "replica": self.label,
            "channel": str(self.channel),
            "directory": str(self.directory),
            "folder": str(self._folder),
            "staging": str(self._staging),
            "checkpoint": str(self._checkpoint or ""),
            "seed": str(self._table.seed + self.number),
        }

    def _environment(self, facts: dict[str, str]) -> dict[str, str]:
        told = {f"MDREEL_{name.upper()}": value for name, value in facts.items() if value}
        threads = dict.fromkeys((*THREADS, _OF_OPENMM), str(self._table.threads))
        return {**threads, **os.environ, **told}

    def _state_of_channel(self) -> str:
        """Return the state of the channel for this start, or ``absent`` if only an earlier channel exists."""
        try:
            status = Status.read(self.channel)
            is_past = self._observer is not None and status.epoch <= self._observer.after_epoch
            return "absent" if is_past else status.state
        except FileNotFoundError:
            return "absent"
        except (MdreelError, OSError):
            return "unreadable"

    def _epoch(self) -> int:
        try:
            return Status.read(self.channel).epoch
        except (MdreelError, OSError):
            return -1

    def _check_new(self) -> None:
        if self.directory.exists() and any(self.directory.iterdir()):
            message = "a new replica needs an empty directory; empty it or choose another one"
            raise MismatchError(message, path=self.directory)
        if self._state_of_channel() == "running":
            raise MismatchError(f"{self.channel}: a producer outside this ensemble runs on the channel")

    def _clear(self) -> None:
        """Remove the channel, the staging and the checkpoint, so that the program starts from the beginning."""
        self._remove_channel()
        if self._staging.is_dir():
            shutil.rmtree(self._staging)
        if self._checkpoint is not None:
            self._checkpoint.unlink(missing_ok=True)

    def _remove_channel(self) -> None:
        with suppress(FileNotFoundError):
            Channel(self.channel).remove()

    def _say(self, event: str, message: str, **facts: object) -> None:
        self._require_open().write(event, message, self._n_frames, **facts)  # type: ignore[arg-type]

    def _require_open(self) -> Journal:
        assert self._journal is not None, "the replica was not taken"
        return self._journal


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
