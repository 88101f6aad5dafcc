"""Tables of an ensemble: one table per replica, joined tables of all replicas, and a summary."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mdreel.errors import FormatError
from mdreel.live.ensemble.configuration import SUMMARY
from mdreel.live.ensemble.replica_analyses import ReplicaAnalyses, ReplicaAnalysis
from mdreel.live.notices.notice import HEAD
from mdreel.results.column import Column
from mdreel.results.files import write


class ResultTables:
    """Writes the tables of an ensemble.

    Parameters
    ----------
    results : Path
        Folder for the tables.
    kept : Path
        Folder for exact copies of the tables, from which joined tables are created later.
    format : str
        File suffix of the tables.
    facts : mapping
        Metadata for all files.
    """

    def __init__(self, results: Path, kept: Path, format: str, facts: Mapping[str, Any]) -> None:  # noqa: A002
        self._results = results
        self._kept = kept
        self._ending = f".{format}"
        self._facts = facts

    def write_replica(self, label: str, analyses: ReplicaAnalyses, found: Sequence[Sequence[Column]]) -> None:
        """Write the tables of a replica, one per analysis. Raise OSError if a table cannot be written."""
        for folder in (self._results / label, self._kept / label):
            folder.mkdir(parents=True, exist_ok=True)
        for analysis, columns in zip(analyses.analyses, found, strict=True):
            facts = self._metadata(analysis) | {"replica": label}
            write(self._results / label / f"{analysis.name}{self._ending}", columns, facts, force=True)
            write(self._kept / label / f"{analysis.name}.npz", columns, facts, force=True)

    def write_joined(self, labels: Sequence[str], analyses: ReplicaAnalyses) -> list[Path]:
        """Write one joined table per analysis for the replicas with these labels, and return the paths."""
        written = []
        for analysis in analyses.analyses if labels else ():
            path = self._results / f"{analysis.name}{self._ending}"
            write(path, self._join_tables(labels, analysis), self._metadata(analysis), force=True)
            written.append(path)
        return written

    def write_summary(
        self, facts: Sequence[Mapping[str, int]], finished: Sequence[str], analyses: ReplicaAnalyses
    ) -> Path:
        """Write the summary, which contains each replica's outcome, and the mean and standard deviation of each column.

        Parameters
        ----------
        facts : sequence of mapping
            Numbers for each replica by name, such as ``replica`` and ``deaths``.
        finished : sequence of str
            Labels of the replicas that have tables, in the same order.
        """
        labels = iter(finished)
        of_each = [next(labels) if one["finished"] else None for one in facts]
        columns = [Column(name, "", np.array([one[name] for one in facts], np.int64)) for name in facts[0]]
        for analysis in analyses.analyses:
            columns += self._statistics(of_each, analysis)
        path = self._results / f"{SUMMARY}{self._ending}"
        self._results.mkdir(parents=True, exist_ok=True)
        title = f"Replicas of {self._facts['ensemble']}"
        write(path, columns, {**self._facts, "title": title}, force=True)
        return path

    def _metadata(self, analysis: ReplicaAnalysis) -> dict[str, Any]:
        return {"title": analysis.title, **self._facts, **analysis.facts}

    def _join_tables(self, labels: Sequence[str], analysis: ReplicaAnalysis) -> list[Column]:
        tables = [self._read(label, analysis.name) for label in labels]
        names = [[column.name for column in table] for table in tables]
        for label, found in zip(labels, names, strict=True):
            if found != names[0]:
                expected = f"expected the columns {', '.join(names[0])} of replica {labels[0]}"
                raise FormatError(f"{self._path(label, analysis.name)}: {expected}, got {', '.join(found)}")
        lengths = [len(table[0].values) for table in tables]
        head = Column("replica", "", np.repeat(np.array([int(label) for label in labels], np.int64), lengths))
        several = zip(*tables, strict=True)
        return [head, *(Column(one[0].name, one[0].unit, _together(one)) for one in several)]

    def _statistics(self, labels: Sequence[str | None], analysis: ReplicaAnalysis) -> Iterator[Column]:
        tables = [None if label is None else self._read(label, analysis.name) for label in labels]
        known = next((table for table in tables if table is not None), None)
        if known is None or tuple(column.name for column in known[: len(HEAD)]) != HEAD:
            return  # the mean of a curve or a matrix is meaningless
        for number, column in enumerate(known[len(HEAD) :], len(HEAD)):
            if column.is_text:
                continue
            each = [None if table is None else np.asarray(table[number].values, np.float64) for table in tables]
            for word, function in (("mean", np.mean), ("std", np.std)):
                values = [np.nan if one is None else float(function(one)) for one in each]
                yield Column(f"{analysis.name}_{column.name}_{word}", column.unit, np.array(values))

    def _path(self, label: str, name: str) -> Path:
        return self._kept / label / f"{name}.npz"

    def _read(self, label: str, name: str) -> list[Column]:
        with np.load(self._path(label, name), allow_pickle=False) as kept:
            units = json.loads(str(kept["metadata"]))["units"]
            return [Column(column, units[column], kept[column]) for column in kept.files if column != "metadata"]


def _together(columns: Sequence[Column]) -> Any:
    return np.concatenate([column.values for column in columns])
