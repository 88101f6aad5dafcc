"""Resources and command of a batch job."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from mdreel.cluster.stage_in import StageIn
from mdreel.errors import MismatchError

_LEAD_SECONDS = 120

# Each scheduler has its own rules for quotes in directives. Words that need no quotes are safe in all of them.
_WORD = re.compile(r"[\w.,:@%+=/-]+", re.ASCII)
_NAME = re.compile(r"[A-Za-z][\w.+-]{0,63}", re.ASCII)
_MEMORY = re.compile(r"([1-9]\d*)([KMGT])(?:i?B)?", re.IGNORECASE)
_TIME = re.compile(r"(?:(\d+)-)?(\d+):([0-5]\d):([0-5]\d)")


@dataclass(frozen=True)
class BatchJob:
    """Analysis that runs as a batch job, with one rank per core.

    Attributes
    ----------
    name : str
        Name of the job.
    program : str
        The ``mdreel`` command, given as a path or as a name that is in PATH.
    arguments : tuple of str
        Arguments of the command: the analysis, its options and ``--checkpoint``.
    inputs : tuple of Path
        Files that the job reads.
    folders : tuple of Path
        Folders that the job writes to.
    checkpoint : Path
        Checkpoint of the analysis.
    n_nodes, n_ranks_per_node : int
        Number of nodes, and number of ranks per node.
    seconds : int or None
        Time limit of the job, in s. If None, the default of the site applies.
    memory : str or None
        Memory per node, such as ``16G`` (units are powers of 1024). If None, the default of the site applies.
    account, queue : str or None
        Account to which the job is charged, and queue of the job (called a partition in Slurm).
    modules : tuple of str
        Environment modules to load.
    activation : tuple of str
        Lines of bash code that activate the environment in which mdreel is installed.
    stage_in : StageIn or None
        Copies of the trajectory on the nodes, if the job makes any.

    Raises
    ------
    MismatchError
        If a number is not positive, or if a word would need quotes in a scheduler directive.

    Examples
    --------
    >>> from pathlib import Path
    >>> from mdreel.cluster import BatchJob
    >>> job = BatchJob(
    ...     name="rmsd",
    ...     program="mdreel",
    ...     arguments=("rmsd", "-s", "adk.psf", "-f", "adk.xtc", "--checkpoint", "rmsd.checkpoint"),
    ...     inputs=(Path("adk.psf"), Path("adk.xtc")),
    ...     folders=(Path("results"),),
    ...     checkpoint=Path("rmsd.checkpoint"),
    ...     n_nodes=2,
    ...     n_ranks_per_node=64,
    ...     seconds=4 * 3600,
    ... )
    >>> job.n_ranks, job.clock()
    (128, '04:00:00')
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
    stage_in: StageIn | None = None

    def __post_init__(self) -> None:
        for what, number in (("nodes", self.n_nodes), ("ranks on a node", self.n_ranks_per_node)):
            if number < 1:
                raise MismatchError(f"the number of {what} must be at least 1, not {number}")
        if not _NAME.fullmatch(self.name):
            message = "must begin with a letter and contain only letters, digits and _.+-, at most 64 characters"
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
        """Time, in s, before the time limit at which the job stops in order to be requeued."""
        return _LEAD_SECONDS if self.seconds is None else min(_LEAD_SECONDS, self.seconds // 5)

    def clock(self) -> str | None:
        """Time limit of the job as ``HH:MM:SS``, a form that all schedulers accept."""
        if self.seconds is None:
            return None
        minutes, seconds = divmod(self.seconds, 60)
        return f"{minutes // 60:02}:{minutes % 60:02}:{seconds:02}"

    def amount_of_memory(self) -> tuple[int, str]:
        """Memory per node as a number and its unit (K, M, G or T)."""
        found = _MEMORY.fullmatch(self.memory or "")
        if found is None:
            raise MismatchError(f"the memory of a node must be a number with a unit, such as 16G, not {self.memory!r}")
        return int(found[1]), found[2].upper()


def seconds_of(text: str) -> int:
    """Convert ``HH:MM:SS`` or ``D-HH:MM:SS`` to seconds.

    Raises
    ------
    MismatchError
        If the text has a different form, or if the time is less than a minute, which is the resolution of schedulers.
    """
    found = _TIME.fullmatch(text)
    days, hours, minutes, seconds = map(int, found.groups(default="0")) if found else (0, 0, 0, 0)
    total = ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    if total < 60:
        raise MismatchError(f"a time must be HH:MM:SS or D-HH:MM:SS and at least one minute, not {text!r}")
    return total
