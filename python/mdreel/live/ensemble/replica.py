"""Replicas of an ensemble."""

import gc
import os
import shutil
from contextlib import suppress
from pathlib import Path
from time import monotonic

from mdreel.cluster.shell import THREADS
from mdreel.errors import MdreelError, MismatchError
from mdreel.live.channels.channel import Channel
from mdreel.live.channels.directory import make_folder_for, place_of
from mdreel.live.channels.status import Status
from mdreel.live.ensemble.configuration import STATE_FOLDER, EnsembleTable
from mdreel.live.ensemble.journal import ENDING, Journal, Past
from mdreel.live.ensemble.replica_analyses import Inquiry, Observation
from mdreel.live.ensemble.replica_process import Program, end_left, end_stray, said_of
from mdreel.live.ensemble.result_tables import Tables

OUTPUT = "output.log"
"""The file in a replica's directory behind which goes what its program says."""

RUNNING = ("starting", "started", "observed")
"""The last event of a replica that runs."""

_ENDED = ("finished", "stopped", "failed")
_OF_OPENMM = "OPENMM_CPU_THREADS"


class Replica:
    """A replica, as one manager has it.

    Parameters
    ----------
    number : int
        Its number, from 0.
    table : EnsembleTable
        What is said of the ensemble.
    folder : Path
        The folder of the file that says it.

    Attributes
    ----------
    number : int
        As it was given.
    label : str
        The number as it is written.
    directory, channel : Path
        Where its program runs, and its channel.
    journal_path : Path
        Where its journal is.
    """

    def __init__(self, number: int, table: EnsembleTable, folder: Path) -> None:
        self.number = number
        self.label = table.label(number)
        place = table.place(folder)
        self.directory = place / self.label
        self.channel = place_of(f"{table.name}-{self.label}")
        self.journal_path = place / STATE_FOLDER / f"{self.label}{ENDING}"
        self._table = table
        self._folder = folder.absolute()
        self._journal: Journal | None = None
        self._program: Program | None = None
        self._observation: Observation | None = None
        self._has_hung = self._is_to_begin_anew = False
        self._n_frames = 0

    @property
    def past(self) -> Past:
        """What its journal tells."""
        return self._opened().past

    @property
    def is_running(self) -> bool:
        """Whether its program runs, or what it has published is not all analysed."""
        return self._program is not None

    @property
    def process_has_ended(self) -> bool:
        """Whether its program has ended."""
        return self._program is None or self._program.status() is not None

    def open(self, retry: bool = False) -> None:
        """Take the replica: nobody else may have it. What a manager that was killed has left running is ended.

        Parameters
        ----------
        retry : bool
            Whether one that has failed is tried again.

        Raises
        ------
        StreamError
            If another manager has it.
        MismatchError
            If it is new, and its directory or channel is in use.
        """
        self._journal = Journal(self.journal_path)
        past = self.past
        self._n_frames = past.n_frames
        if past.event is None:
            self._check_new()
        elif past.event == "failed" and retry:
            self._say("retried", "tried again")
        elif past.event in RUNNING:
            if past.event == "starting":  # whoever wrote that was killed before it could say as which process
                was = end_stray("MDREEL_DIRECTORY", str(self.directory))
            else:
                was = past.process is not None and end_left(past.process)
            self._say("interrupted", "its manager was lost" + (", and its program ended" if was else ""))

    def start(self, inquiry: Inquiry) -> str:
        """Start its program: to go on from the checkpoint where that can be, else to begin anew.

        Returns
        -------
        str
            What was done, in words.

        Raises
        ------
        MismatchError
            If it cannot be started.
        """
        is_first = self.past.event is None
        how = self._prepare(inquiry)
        command = self._table.command if how is None else self._table.restart
        assert command is not None
        facts = self._facts()
        words = [word.format_map(facts) for word in command]
        message = how or ("started" if is_first else "begins anew")
        self._say("starting", message, is_anew=how is None)
        self.directory.mkdir(parents=True, exist_ok=True)
        make_folder_for(self.channel)
        try:
            self._program = Program(words, self.directory, self._environment(facts), self.directory / OUTPUT)
        except OSError as error:
            what = "command" if how is None else "restart"
            raise MismatchError(f"{what}: {words[0]} cannot be started: {error.strerror}") from error
        assert self._observation is not None
        self._observation.heard_at = monotonic()
        self._has_hung = False
        self._say("started", message, process=self._program.process, is_anew=how is None)
        return message

    def look(self) -> bool:
        """Analyse what has come; return whether something had."""
        assert self._observation is not None
        has_come = self._observation.look()
        self._n_frames = self._observation.n_frames
        step = self._observation.first_step
        if step is not None and self.past.first_step != step:
            self._say("observed", f"the first frame has step {step}", first_step=step)
        return has_come

    def settle(self, inquiry: Inquiry, tables: Tables) -> str | None:
        """See whether the program has ended, hangs, or cannot be analysed; return what happened, None if nothing.

        Raises
        ------
        OSError
            If the tables of one that has finished cannot be written.
        """
        program, observation = self._program, self._observation
        assert program is not None
        assert observation is not None
        if program.status() is None:
            self._end_if_hopeless(program, observation)
        status = program.status()
        if status is None:
            return None
        state = self._state_of_channel()
        if state in _ENDED and not observation.has_ended:
            return None  # there are frames left
        is_wanted_end = observation.has_all or state == "finished" or (state == "stopped" and status == 0)
        if observation.is_over and is_wanted_end:
            return self._finish(observation, inquiry, tables, status)
        return self._end_otherwise(observation, status, state)

    def terminate(self) -> None:
        """Ask its program to end."""
        if self._program is not None:
            self._program.terminate()

    def leave(self, reason: str) -> None:
        """End its program, if it runs, and leave the analyses: another run goes on with it."""
        if self._program is not None:
            self._program.kill()
            self._say("interrupted", reason)
            self._program = None
        self.close()

    def close(self) -> None:
        """Leave channel and journal."""
        self.leave_channel()
        if self._journal is not None:
            self._journal.close()
            self._journal = None

    def leave_channel(self) -> None:
        """Leave the channel, so that the simulation need not wait for its analyses any more."""
        if self._observation is not None:
            self._observation.close()
            self._observation = None

    # --- What is done -----------------------------------------------------------------------------------------------

    def _prepare(self, inquiry: Inquiry) -> str | None:
        """Make ready for a start; return from where it goes on, None if it begins anew."""
        checkpoint, first = self._checkpoint, self.past.first_step
        has_checkpoint = checkpoint is not None and checkpoint.exists() and first is not None
        observation = self._observation
        if has_checkpoint and observation is not None and observation.is_waiting:
            return "goes on from its checkpoint"
        if observation is not None:
            del observation
            self.leave_channel()
            gc.collect()  # whatever still knows the analyses of before keeps their place in the ring
        if has_checkpoint and self._has_staging() and not self._is_to_begin_anew:
            self._observation = Observation(self.channel, inquiry, self._epoch(), first)
            return "goes on from its checkpoint; its analyses begin again, from staging"
        self._clear()
        self._is_to_begin_anew = False
        self._observation = Observation(self.channel, inquiry)
        return None

    def _end_if_hopeless(self, program: Program, observation: Observation) -> None:
        """End a program that hangs, or whose frames nobody can analyse."""
        if observation.error is not None and self._state_of_channel() != "failed":
            program.kill()
        patience = self._table.patience
        if patience is not None and not observation.has_all and monotonic() - observation.heard_at > patience:
            self._has_hung = True
            program.kill()

    def _end_otherwise(self, observation: Observation, status: int, state: str) -> str:
        if observation.lacks_frames:
            self._is_to_begin_anew = True
            return self._die(status, state, str(observation.error))
        if observation.error is not None and state != "failed":
            return self._fail(f"its analyses have failed: {_one_line(observation.error)}")
        return self._die(status, state)

    def _finish(self, observation: Observation, inquiry: Inquiry, tables: Tables, status: int) -> str:
        tables.write_replica(self.label, inquiry, observation.found)
        message = f"finished with {observation.n_frames:,} frames"
        if status:
            message += f"; its program has ended with {said_of(status)} behind that"
        self._say("finished", message)
        self._program = None
        self.leave_channel()
        self._remove_channel()
        return message

    def _die(self, status: int, state: str, why: str = "") -> str:
        if self._has_hung:
            why = f"nothing was published for {self._table.patience:g} s: it was ended"
        why = why or f"ended with {said_of(status)}, its channel {state}, after {self._n_frames:,} frames"
        self._say("hung" if self._has_hung else "died", why)
        self._program = None
        if self.past.n_deaths > self._table.restarts:
            again = f"it was started again {self._table.restarts} times"
            return self._fail(f"{why}; {again}; what it has said: {self.directory / OUTPUT}")
        return why

    def _fail(self, message: str) -> str:
        self._program = None
        self._say("failed", message)
        self.leave_channel()
        self._remove_channel()
        return f"failed: {message}"

    # --- What there is ----------------------------------------------------------------------------------------------

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
        """What is to be seen of the channel of this start, and not of one before."""
        try:
            status = Status.of(self.channel)
            is_past = self._observation is not None and status.epoch <= self._observation.after_epoch
            return "absent" if is_past else status.state
        except FileNotFoundError:
            return "absent"
        except (MdreelError, OSError):
            return "unreadable"

    def _epoch(self) -> int:
        try:
            return Status.of(self.channel).epoch
        except (MdreelError, OSError):
            return -1

    def _check_new(self) -> None:
        if self.directory.exists() and any(self.directory.iterdir()):
            message = "expected nothing to be there for a new replica: remove it, or name another directory"
            raise MismatchError(f"{self.directory}: {message}")
        if self._state_of_channel() == "running":
            raise MismatchError(f"{self.channel}: the channel has a living producer, which is none of this ensemble")

    def _clear(self) -> None:
        """Remove what a program would go on from that is to begin anew."""
        self._remove_channel()
        if self._staging.is_dir():
            shutil.rmtree(self._staging)
        if self._checkpoint is not None:
            self._checkpoint.unlink(missing_ok=True)

    def _remove_channel(self) -> None:
        with suppress(FileNotFoundError):
            Channel(self.channel).remove()

    def _say(self, event: str, message: str, **facts: object) -> None:
        self._opened().write(event, message, self._n_frames, **facts)  # type: ignore[arg-type]

    def _opened(self) -> Journal:
        assert self._journal is not None, "the replica was not taken"
        return self._journal


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
