"""Batch jobs: resources and the command to run."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from mdreel.errors import MismatchError

_LEAD_SECONDS = 120

# Directives are lines that schedulers parse, each by rules of its own for quotes: what needs none is safe in all.
_WORD = re.compile(r"[\w.,:@%+=/-]+", re.ASCII)
_NAME = re.compile(r"[A-Za-z][\w.+-]{0,63}", re.ASCII)
_MEMORY = re.compile(r"([1-9]\d*)([KMGT])(?:i?B)?", re.IGNORECASE)
_TIME = re.compile(r"(?:(\d+)-)?(\d+):([0-5]\d):([0-5]\d)")


@dataclass(frozen=True)
class BatchJob:
    """An analysis as a job of a scheduler, one rank a core.

    Attributes
    ----------
    name : str
        What the job is called.
    program : str
        The command ``mdreel``: a path, or a name that is looked up.
    arguments : tuple of str
        What follows the command: the analysis, its options, and ``--checkpoint``.
    inputs : tuple of Path
        The files that it reads.
    folders : tuple of Path
        The folders that it writes to.
    checkpoint : Path
        Its checkpoint.
    n_nodes, n_ranks_per_node : int
        How many nodes, and ranks on each.
    seconds : int or None
        How long the job may take; None for what the site gives.
    memory : str or None
        The memory of each node, such as ``16G`` (units are powers of 1024); None for what the site gives.
    account, queue : str or None
        Who pays, and where the job waits (a partition, in Slurm's words).
    modules : tuple of str
        Environment modules to load.
    activation : tuple of str
        Lines of bash that make the environment in which mdreel is.

    Raises
    ------
    MismatchError
        If a number is not positive, or a word would not come through a scheduler's directives as it is.
    """

    name: str
    program: str
    arguments: tuple[str, ...]
    inputs: tuple[Path, ...]
    folders: tuple[Path, ...]
    checkpoint: Path
    n_nodes: int
    n_ranks_per_node: int
    seconds: int | None = None
    memory: str | None = None
    account: str | None = None
    queue: str | None = None
    modules: tuple[str, ...] = ()
    activation: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for what, number in (("nodes", self.n_nodes), ("ranks on a node", self.n_ranks_per_node)):
            if number < 1:
                raise MismatchError(f"the number of {what} must be at least 1, not {number}")
        if not _NAME.fullmatch(self.name):
            message = "must begin with a letter and have letters, digits and any of _.+- only, 64 at the most"
            raise MismatchError(f"the name of the job {message}, not {self.name!r}")
        for what, word in (("account", self.account), ("partition or queue", self.queue)):
            if word is not None and not _WORD.fullmatch(word):
                raise MismatchError(f"the {what} must be a word without spaces and quotes, not {word!r}")
        if self.memory is not None:
            self.amount_of_memory()

    @property
    def n_ranks(self) -> int:
        """Number of ranks on all nodes."""
        return self.n_nodes * self.n_ranks_per_node

    @property
    def lead_seconds(self) -> int:
        """How long before its end the job makes ready to be queued again."""
        return _LEAD_SECONDS if self.seconds is None else min(_LEAD_SECONDS, self.seconds // 5)

    def clock(self) -> str | None:
        """How long the job may take, as ``HH:MM:SS``, which all schedulers understand."""
        if self.seconds is None:
            return None
        minutes, seconds = divmod(self.seconds, 60)
        return f"{minutes // 60:02}:{minutes % 60:02}:{seconds:02}"

    def amount_of_memory(self) -> tuple[int, str]:
        """The memory of a node: a number, and its unit: K, M, G or T."""
        found = _MEMORY.fullmatch(self.memory or "")
        if found is None:
            raise MismatchError(f"the memory of a node is a number with a unit, such as 16G, not {self.memory!r}")
        return int(found[1]), found[2].upper()


def seconds_of(text: str) -> int:
    """Return how many seconds ``HH:MM:SS`` or ``D-HH:MM:SS`` means.

    Raises
    ------
    MismatchError
        If it means nothing, or less than a minute, which is as exactly as schedulers look.
    """
    found = _TIME.fullmatch(text)
    days, hours, minutes, seconds = map(int, found.groups(default="0")) if found else (0, 0, 0, 0)
    total = ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    if total < 60:
        raise MismatchError(f"a time is HH:MM:SS or D-HH:MM:SS, and a minute at the least, not {text!r}")
    return total
