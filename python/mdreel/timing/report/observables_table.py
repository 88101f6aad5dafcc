"""Table of the observables of each worker."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mdreel.foundation.formatting import SECONDS, Unit, amount, digits, unit_of
from mdreel.foundation.html.markup import Markup, element, joined, table, together
from mdreel.timing.observables import NAMES, Observables
from mdreel.timing.report.card import card
from mdreel.timing.report.term import term
from mdreel.timing.timing import Timing

_MOST_ROWS = 200
_TIMES = (*NAMES, "t_idle", "t_own")
_SUMMARIES: Mapping[str, Callable[[Any], float]] = {
    "min": lambda values: float(np.min(values)),
    "median": lambda values: float(np.median(values)),
    "max": lambda values: float(np.max(values)),
}


def observables_table(timing: Timing) -> Markup:
    """Return a table of the observables of each worker.

    Parameters
    ----------
    timing : Timing
        Timing of the run. If there are more than 200 workers, the table shows the stragglers and a selection of evenly
        spaced other workers.
    """
    of = timing.observables
    if not len(of.ranks):
        return card("observables", "Observables", note="No worker recorded anything.")
    shown = _rows(of, [straggler.rank for straggler in timing.straggling])
    unit = unit_of(float(of.t_n.max()), SECONDS)
    rows: list[Sequence[str]] = []
    if len(of.ranks) > 1:
        rows += [_summary(name, of, unit) for name in _SUMMARIES]
    rows += [_row(of, row, unit) for row in shown.tolist()]
    head = (term("worker"), *map(term, _TIMES), "frames", "blocks", "MB")
    summary = element("summary", f"{len(of.ranks):,} worker{'s' * (len(of.ranks) > 1)}, times in {unit.name}")
    label = "Observables of each worker"
    numbers = table(head, rows, class_="numbers")
    body = element("div", numbers, class_="scroll", tabindex=0, role="region", aria_label=label)
    note = "" if len(shown) == len(of.ranks) else f"{len(shown)} workers shown: stragglers and evenly spaced others."
    return card("observables", "Observables", element("details", summary, body), lead=_lead(of), note=note)


def _rows(of: Observables, slow: Sequence[int]) -> NDArray[np.intp]:
    n_ranks = len(of.ranks)
    if n_ranks <= _MOST_ROWS:
        return np.arange(n_ranks)
    stragglers = np.searchsorted(of.ranks, slow[: _MOST_ROWS // 4])
    evenly = np.rint(np.linspace(0, n_ranks - 1, _MOST_ROWS - len(stragglers))).astype(np.intp)
    return np.union1d(evenly, stragglers)


def _row(of: Observables, row: int, unit: Unit) -> Sequence[str]:
    times = (digits(float(getattr(of, name)[row]) / unit.size) for name in _TIMES)
    return (str(of.ranks[row]), *times, *_counts(of.n_frames[row], of.n_blocks[row], of.n_bytes[row]))


def _summary(name: str, of: Observables, unit: Unit) -> Sequence[str]:
    of_all = _SUMMARIES[name]
    times = (digits(of_all(getattr(of, observable)) / unit.size) for observable in _TIMES)
    return (name, *times, *_counts(*(of_all(values) for values in (of.n_frames, of.n_blocks, of.n_bytes))))


def _counts(n_frames: float, n_blocks: float, n_bytes: float) -> Iterator[str]:
    yield f"{n_frames:,.0f}"
    yield f"{n_blocks:,.0f}"
    yield digits(float(n_bytes) * 1e-6)


def _lead(of: Observables) -> Markup:
    names = ("t_io", "t_comp", "t_comm")
    sums = (together(term(name), f" {amount(float(getattr(of, name).sum()), SECONDS)}") for name in names)
    identities = (
        ". t_n = t_block + t_comm; t_block = t_open + t_all_frames + overhead2; "
        "t_all_frames = t_io + t_comp + t_end_loop + overhead1. They include waiting at barriers; "
    )
    listed = together("All workers together: ", joined(", ", sums))
    return together(listed, identities, term("t_own"), " = t_n - t_idle excludes it.")
