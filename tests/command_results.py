"""Tables and errors of commands, as tests read them."""

from pathlib import Path
from subprocess import CompletedProcess

import numpy as np

TEXT = ("segment", "resname")
ALL_TEXT = (*TEXT, "interaction", *(f"{side}_{name}" for side in ("first", "second") for name in (*TEXT, "name")))


def table(path: Path) -> tuple[list[str], np.ndarray]:
    """Return all headings of a CSV file, and its columns of numbers."""
    with path.open() as file:
        head = file.readline().strip().split(",")
        columns = [i for i, name in enumerate(head) if name not in ALL_TEXT]
        return head, np.loadtxt(file, delimiter=",", usecols=columns, ndmin=2)


def refused(done: "CompletedProcess[str]", code: int, *words: object) -> None:
    """Check that a command ended with one line that has these words."""
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    assert done.stderr.startswith("mdreel: error: ")
    assert done.stderr.count("\n") == 1
    for word in words:
        assert str(word) in done.stderr
