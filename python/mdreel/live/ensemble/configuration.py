"""Configuration of an ensemble."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mdreel.errors import MismatchError
from mdreel.foundation.placeholders import check_placeholders
from mdreel.foundation.toml_schema import checked, entry, schema_of

FACTS = ("replica", "channel", "directory", "folder", "staging", "checkpoint", "seed")
"""What commands are told, as words (``{seed}``) and as environment variables (``MDREEL_SEED``)."""

FORMATS = ("csv", "parquet", "npz", "json", "nc", "xvg")

MOST_RESTARTS = 50
"""A channel has at most 64 epochs."""

SUMMARY = "replicas"
"""The table about the replicas themselves; no analysis can have this name."""

STATE_FOLDER = ".ensemble"
"""Where in the directory of an ensemble its own state is."""

_ANALYSIS_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,47}")


@dataclass(frozen=True, kw_only=True)
class SlurmTable:
    """What Slurm is asked for; each job has a node for itself and some of the replicas."""

    replicas_per_job: int | None = entry("How many replicas a job has.  [default: at-once]", None, least=1)
    cpus_per_job: int | None = entry("Cores of each job.  [default: at-once times threads]", None, least=1)
    jobs_at_once: int | None = entry(
        "How many jobs may run at a time.  [default: as many as Slurm likes]", None, least=1
    )
    time: str | None = entry("How long a job may take, HH:MM:SS or D-HH:MM:SS; it is queued again behind that.", None)
    memory: str | None = entry("Memory of each job, such as 16G.", None)
    account: str | None = entry("Who pays.", None)
    partition: str | None = entry("Where jobs wait.", None)
    modules: tuple[str, ...] = entry("Environment modules to load.", ())
    environment: str | None = entry(
        "Folder of a virtual environment, or folder or name of one of conda.  [default: the one of this mdreel]", None
    )


@dataclass(frozen=True, kw_only=True)
class EnsembleTable:
    """An ensemble, as a file says it; files and folders are named from the folder of the file."""

    name: str = entry("What the ensemble is called; its channels are called NAME-REPLICA.")
    replicas: int = entry("How many replicas there are.", least=1)
    command: tuple[str, ...] = entry(
        "The program that begins a replica, and its arguments, without a shell, run in the replica's directory."
    )
    restart: tuple[str, ...] | None = entry("The program that has a replica go on from its checkpoint.", None)
    checkpoint: str | None = entry(
        "The file in the replica's directory that is its last checkpoint, and appears whole, by a rename.", None
    )
    directory: str = entry("Where the replicas' directories are, and the state of the ensemble.  [default: NAME]", "")
    results: str = entry("Where the tables go.  [default: results, in the directory]", "")
    format: str = entry("The format of the tables.", "csv", choices=FORMATS)
    joined: bool = entry("Whether each analysis also has one table of all replicas.", True)
    seed: int = entry("The seed of replica 0; that of replica n is n more.", 1, least=0)
    threads: int = entry("Threads of a replica's program, as far as it asks OMP_NUM_THREADS and its like.", 1, least=1)
    at_once: int | None = entry(
        "How many replicas run at a time.  [default: as many as the cores have room for]", None, least=1
    )
    restarts: int = entry("How often a replica is started again that has died.", 5, least=0)
    patience: float | None = entry(
        "A replica that has published nothing for so long counts as dead, s.  [default: as long as it runs]",
        None,
        least=0,
    )
    grace: float = entry("How long replicas that are to stop may take for it, s; then they are ended.", 10.0, least=0)
    slurm: SlurmTable = entry("What Slurm is asked for.", SlurmTable())  # noqa: RUF009 (it cannot be changed)

    def __post_init__(self) -> None:
        """Check what goes together.

        Raises
        ------
        MismatchError
            If it does not.
        """
        if not _NAME.fullmatch(self.name):
            allowed = "1 to 48 letters, digits, '.', '_' and '-', beginning with a letter or digit"
            raise MismatchError(f"name: expected {allowed}, got {self.name!r}")
        if (self.restart is None) != (self.checkpoint is None):
            missing, other = ("restart", "checkpoint") if self.restart is None else ("checkpoint", "restart")
            raise MismatchError(f"{missing} is missing, without which {other} makes no sense")
        if self.checkpoint is not None and (not self.checkpoint or Path(self.checkpoint).name != self.checkpoint):
            raise MismatchError(f"checkpoint: expected the name of a file, got {self.checkpoint!r}")
        for what, command in (("command", self.command), ("restart", self.restart)):
            if command is not None:
                if not command[0]:
                    raise MismatchError(f"{what}: there is no program")
                check_placeholders(what, command, FACTS)
        if self.restarts > MOST_RESTARTS:
            raise MismatchError(f"restarts: must be {MOST_RESTARTS} or less, not {self.restarts}")
        for what, seconds in (("patience", self.patience), ("grace", self.grace)):
            if seconds is not None and not seconds < float("inf"):
                raise MismatchError(f"{what}: expected a finite number, got {seconds}")

    @property
    def n_at_once(self) -> int:
        """How many replicas run at a time."""
        if self.at_once is not None:
            return self.at_once
        return max(1, len(os.sched_getaffinity(0)) // self.threads)

    def label(self, replica: int) -> str:
        """Return the number of a replica as it is written: all of one width."""
        return f"{replica:0{max(3, len(str(self.replicas - 1)))}}"

    def place(self, folder: Path) -> Path:
        """Return the directory of the ensemble, as named from the folder of its file."""
        return (folder / (self.directory or self.name)).absolute()

    def place_of_results(self, folder: Path) -> Path:
        """Return where tables go."""
        return (folder / self.results).absolute() if self.results else self.place(folder) / "results"


def table_of(where: str, content: Mapping[str, Any]) -> EnsembleTable:
    """Make the table of what a TOML file says.

    Parameters
    ----------
    where : str
        What errors begin with: the file.
    content : mapping
        What the file says, without analyses and their input.

    Raises
    ------
    MismatchError
        If something in it is unknown, missing, of a wrong type, or does not go together.
    """
    try:
        return checked(EnsembleTable, where, dict(content))
    except MismatchError as error:
        if str(error).startswith(where):
            raise
        raise MismatchError(f"{where}: {error}") from None


def check_analysis(where: str, analysis: Mapping[str, Any]) -> None:
    """Refuse an analysis whose tables an ensemble could not name.

    Parameters
    ----------
    where : str
        The place of the analysis in its file, for messages.
    analysis : mapping
        Its table in the file.

    Raises
    ------
    MismatchError
        If it names its outputs itself, or its name cannot be that of a file.
    """
    for name in ("output", "plot"):
        if name in analysis:
            raise MismatchError(f"{where}: {name}: an ensemble names its tables itself, by the name of the analysis")
    called = analysis.get("name", analysis.get("type"))
    if isinstance(called, str) and (not _ANALYSIS_NAME.fullmatch(called) or called == SUMMARY):
        allowed = f"up to 64 letters, digits, '.', '_' and '-', and not {SUMMARY!r}"
        raise MismatchError(f"{where}: name: expected {allowed}, got {called!r}")


def schema_of_ensembles() -> dict[str, Any]:
    """Return the JSON schema of the table of an ensemble."""
    return schema_of(EnsembleTable)
