"""Configuration of an ensemble."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mdreel.errors import MismatchError
from mdreel.foundation.placeholders import check_placeholders
from mdreel.foundation.toml_schema import checked_file, entry, schema_of

FACTS = ("replica", "channel", "directory", "folder", "staging", "checkpoint", "seed")
"""Values that commands can use as placeholders (``{seed}``) and environment variables (``MDREEL_SEED``)."""

FORMATS = ("csv", "parquet", "npz", "json", "nc", "xvg")

MOST_RESTARTS = 50
"""Maximum number of restarts, which is less than the 64 epochs that a channel can have."""

SUMMARY = "replicas"
"""Name of the summary table. Analyses cannot have this name."""

STATE_FOLDER = ".ensemble"
"""Folder in the ensemble's directory in which its state is stored."""

_ANALYSIS_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,47}")


@dataclass(frozen=True, kw_only=True)
class SlurmTable:
    """Resources of Slurm jobs. Each job runs some of the replicas on its own node."""

    replicas_per_job: int | None = entry("Number of replicas of each job.  [default: at-once]", None, least=1)
    cpus_per_job: int | None = entry("Number of cores of each job.  [default: at-once times threads]", None, least=1)
    jobs_at_once: int | None = entry(
        "Maximum number of jobs that run at the same time.  [default: unlimited]", None, least=1
    )
    time: str | None = entry(
        "Time limit of a job, HH:MM:SS or D-HH:MM:SS; the job is queued again when it is reached.", None
    )
    memory: str | None = entry("Memory of each job, such as 16G.", None)
    account: str | None = entry("Account to charge.", None)
    partition: str | None = entry("Partition of the jobs.", None)
    modules: tuple[str, ...] = entry("Environment modules to load.", ())
    environment: str | None = entry(
        "Folder of a virtual environment, or folder or name of a conda environment.  [default: this environment]", None
    )


@dataclass(frozen=True, kw_only=True)
class EnsembleTable:
    """Table that describes an ensemble. Paths are relative to the folder of the ensemble file."""

    name: str = entry("Name of the ensemble; its channels are named NAME-REPLICA.")
    replicas: int = entry("Number of replicas.", least=1)
    command: tuple[str, ...] = entry(
        "Program and arguments that start a replica, run without a shell in the replica's directory."
    )
    restart: tuple[str, ...] | None = entry("Program and arguments that continue a replica from its checkpoint.", None)
    checkpoint: str | None = entry(
        "Checkpoint file in the replica's directory, which the program replaces by renaming a complete file.", None
    )
    directory: str = entry("Folder of the replicas' directories and of the state of the ensemble.  [default: NAME]", "")
    results: str = entry("Folder of the tables.  [default: results in the directory]", "")
    format: str = entry("Format of the tables.", "csv", choices=FORMATS)
    joined: bool = entry("Whether to write a joined table of all replicas for each analysis.", True)
    seed: int = entry("Seed of replica 0; replica n has this seed plus n.", 1, least=0)
    threads: int = entry("Number of threads of each program, set by OMP_NUM_THREADS and similar variables.", 1, least=1)
    at_once: int | None = entry(
        "Number of replicas that run at the same time.  [default: cores / threads]", None, least=1
    )
    restarts: int = entry("Maximum number of restarts of each replica.", 5, least=0)
    patience: float | None = entry(
        "Time without frames after which a replica is ended and counts as dead, s.  [default: unlimited]",
        None,
        least=0,
    )
    grace: float = entry(
        "Time that replicas have to stop after an interruption, s; after that they are killed.", 10.0, least=0
    )
    slurm: SlurmTable = entry("Resources of Slurm jobs.", SlurmTable())  # noqa: RUF009 (immutable)

    def __post_init__(self) -> None:
        """Check that the entries are consistent."""
        if not _NAME.fullmatch(self.name):
            allowed = "1 to 48 letters, digits, '.', '_' and '-', starting with a letter or digit"
            raise MismatchError(f"name: expected {allowed}, got {self.name!r}")
        if (self.restart is None) != (self.checkpoint is None):
            missing, other = ("restart", "checkpoint") if self.restart is None else ("checkpoint", "restart")
            raise MismatchError(f"{missing} is missing; {other} requires it")
        if self.checkpoint is not None and (not self.checkpoint or Path(self.checkpoint).name != self.checkpoint):
            raise MismatchError(f"checkpoint: expected the name of a file, got {self.checkpoint!r}")
        for what, command in (("command", self.command), ("restart", self.restart)):
            if command is not None:
                if not command[0]:
                    raise MismatchError(f"{what}: the command has no program")
                check_placeholders(what, command, FACTS)
        if self.restarts > MOST_RESTARTS:
            raise MismatchError(f"restarts: must be {MOST_RESTARTS} or less, not {self.restarts}")
        for what, seconds in (("patience", self.patience), ("grace", self.grace)):
            if seconds is not None and not seconds < float("inf"):
                raise MismatchError(f"{what}: expected a finite number, got {seconds}")

    @property
    def n_at_once(self) -> int:
        """Number of replicas that run at the same time."""
        if self.at_once is not None:
            return self.at_once
        return max(1, len(os.sched_getaffinity(0)) // self.threads)

    def label(self, replica: int) -> str:
        """Return the number of a replica with leading zeros."""
        return f"{replica:0{max(3, len(str(self.replicas - 1)))}}"

    def directory_path(self, folder: Path) -> Path:
        """Return the directory of the ensemble, given the folder of its file."""
        return (folder / (self.directory or self.name)).absolute()

    def results_path(self, folder: Path) -> Path:
        """Return the folder of the tables, given the folder of the ensemble's file."""
        return (folder / self.results).absolute() if self.results else self.directory_path(folder) / "results"


def parse_ensemble(where: str, content: Mapping[str, Any]) -> EnsembleTable:
    """Validate the content of the ensemble file `where`, except its analyses; see `checked_file` for the errors."""
    return checked_file(EnsembleTable, where, content)


def check_analysis(where: str, analysis: Mapping[str, Any]) -> None:
    """Raise MismatchError if an analysis specifies outputs, or if its name cannot be used as a file name."""
    for name in ("output", "plot"):
        if name in analysis:
            raise MismatchError(f"{where}: {name}: not allowed in an ensemble, which names tables after analyses")
    called = analysis.get("name", analysis.get("type"))
    if isinstance(called, str) and (not _ANALYSIS_NAME.fullmatch(called) or called == SUMMARY):
        allowed = f"up to 64 letters, digits, '.', '_' and '-', and not {SUMMARY!r}"
        raise MismatchError(f"{where}: name: expected {allowed}, got {called!r}")


def ensemble_schema() -> dict[str, Any]:
    """Return the JSON schema for the table of an ensemble."""
    return schema_of(EnsembleTable)
