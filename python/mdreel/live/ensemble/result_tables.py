"""Result tables of an ensemble."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mdreel.errors import FormatError
from mdreel.live.ensemble.configuration import SUMMARY
from mdreel.live.ensemble.replica_analyses import Inquiry, Wanted
from mdreel.live.notices.notice import HEAD
from mdreel.results.column import Column
from mdreel.results.files import write


class Tables:
    """Where tables are, and how they are written.

    Parameters
    ----------
    results : Path
        The folder of the tables.
    kept : Path
        The folder in which each is kept to the bit, so that those of all replicas can be made of them later.
    format : str
        The ending of tables.
    facts : mapping
        What files say of all of them.
    """

    def __init__(self, results: Path, kept: Path, format: str, facts: Mapping[str, Any]) -> None:  # noqa: A002
        self._results = results
        self._kept = kept
        self._ending = f".{format}"
        self._facts = facts

    def write_replica(self, label: str, inquiry: Inquiry, found: Sequence[Sequence[Column]]) -> None:
        """Write the tables of a replica, one for each analysis.

        Raises
        ------
        OSError
            If they cannot be written.
        """
        for folder in (self._results / label, self._kept / label):
            folder.mkdir(parents=True, exist_ok=True)
        for wanted, columns in zip(inquiry.wanted, found, strict=True):
            facts = self._facts_of(wanted) | {"replica": label}
            write(self._results / label / f"{wanted.name}{self._ending}", columns, facts, force=True)
            write(self._kept / label / f"{wanted.name}.npz", columns, facts, force=True)

    def write_joined(self, labels: Sequence[str], inquiry: Inquiry) -> list[Path]:
        """Write one table of all replicas for each analysis; return where they are.

        Parameters
        ----------
        labels : sequence of str
            The replicas that have finished, ascending.
        """
        written = []
        for wanted in inquiry.wanted if labels else ():
            path = self._results / f"{wanted.name}{self._ending}"
            write(path, self._joined(labels, wanted), self._facts_of(wanted), force=True)
            written.append(path)
        return written

    def write_summary(self, facts: Sequence[Mapping[str, int]], finished: Sequence[str], inquiry: Inquiry) -> Path:
        """Write a line for each replica: what became of it, and mean and standard deviation of each value.

        Parameters
        ----------
        facts : sequence of mapping
            Of each replica, numbers by name: ``replica`` and others.
        finished : sequence of str
            The replicas that have tables, of those in this order.
        """
        labels = iter(finished)
        of_each = [next(labels) if one["finished"] else None for one in facts]
        columns = [Column(name, "", np.array([one[name] for one in facts], np.int64)) for name in facts[0]]
        for wanted in inquiry.wanted:
            columns += self._statistics(of_each, wanted)
        path = self._results / f"{SUMMARY}{self._ending}"
        self._results.mkdir(parents=True, exist_ok=True)
        title = f"Replicas of {self._facts['ensemble']}"
        write(path, columns, {**self._facts, "title": title}, force=True)
        return path

    def _facts_of(self, wanted: Wanted) -> dict[str, Any]:
        return {"title": wanted.title, **self._facts, **wanted.facts}

    def _joined(self, labels: Sequence[str], wanted: Wanted) -> list[Column]:
        tables = [self._read(label, wanted.name) for label in labels]
        names = [[column.name for column in table] for table in tables]
        for label, found in zip(labels, names, strict=True):
            if found != names[0]:
                expected = f"expected the columns {', '.join(names[0])}, as of replica {labels[0]}"
                raise FormatError(f"{self._path(label, wanted.name)}: {expected}, got {', '.join(found)}")
        lengths = [len(table[0].values) for table in tables]
        head = Column("replica", "", np.repeat(np.array([int(label) for label in labels], np.int64), lengths))
        several = zip(*tables, strict=True)
        return [head, *(Column(one[0].name, one[0].unit, _together(one)) for one in several)]

    def _statistics(self, labels: Sequence[str | None], wanted: Wanted) -> Iterator[Column]:
        tables = [None if label is None else self._read(label, wanted.name) for label in labels]
        known = next((table for table in tables if table is not None), None)
        if known is None or tuple(column.name for column in known[: len(HEAD)]) != HEAD:
            return  # of a curve or a matrix a mean says nothing
        for number, column in enumerate(known[len(HEAD) :], len(HEAD)):
            if column.is_text:
                continue
            each = [None if table is None else np.asarray(table[number].values, np.float64) for table in tables]
            for word, function in (("mean", np.mean), ("std", np.std)):
                values = [np.nan if one is None else float(function(one)) for one in each]
                yield Column(f"{wanted.name}_{column.name}_{word}", column.unit, np.array(values))

    def _path(self, label: str, name: str) -> Path:
        return self._kept / label / f"{name}.npz"

    def _read(self, label: str, name: str) -> list[Column]:
        with np.load(self._path(label, name), allow_pickle=False) as kept:
            units = json.loads(str(kept["metadata"]))["units"]
            return [Column(column, units[column], kept[column]) for column in kept.files if column != "metadata"]


def _together(columns: Sequence[Column]) -> Any:
    return np.concatenate([column.values for column in columns])
