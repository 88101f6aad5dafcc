"""Ratios, efficiency and guidelines of a run."""

import numpy as np

from mdreel.foundation.formatting import SECONDS, amount, digits, percent
from mdreel.foundation.html.markup import Markup, element, table, together
from mdreel.timing.guidelines import COMPUTE_BOUND, NEGLIGIBLE_COMMUNICATION
from mdreel.timing.observables import Observables
from mdreel.timing.report.card import card
from mdreel.timing.report.term import term
from mdreel.timing.timing import Timing

_FAR_ABOVE = 10.0
_OF_SHORT_RUN = "A run of less than 2 s is too short to draw conclusions for longer runs from these numbers."
_SOURCE = (
    "Guidelines of Khoshlessan et al. (2020), section 8. They define R_comp/io for a serial run; here it is the ratio "
    "of the total times of all workers, including contention. The efficiency is an estimate: it uses t_io + t_comp of "
    "all workers as the time of a serial run."
)


def ratios(timing: Timing) -> Markup:
    """Return a table of the ratios and the efficiency. Unless the run was short, it includes their interpretation."""
    of = timing.observables
    if not len(of.ranks):
        return card("ratios", "What it means", note="No worker recorded anything.")
    n_ranks = len(of.ranks)
    working = float((of.t_io + of.t_comp).sum())
    whole = max(n_ranks * of.t_total, 1e-300)
    mean = float(np.mean(of.t_own))
    rows: list[tuple[str, ...]] = [
        (term("R_comp/io"), digits(of.ratio_comp_io), _of_reading(of)),
        (term("R_comp/comm"), digits(of.ratio_comp_comm), _of_communication(of)),
        (term("t_total"), amount(of.t_total, SECONDS), "Wall time of the parallel part, waiting included."),
        (
            together("mean ", term("t_own"), " / t_total"),
            percent(mean / max(of.t_total, 1e-300)),
            _of_balance(mean, of),
        ),
        (
            together(term("E(N)"), ", estimated"),
            percent(working / whole),
            f"The share of N × t_total in which the worker{'s' * (n_ranks > 1)} read and computed.",
        ),
    ]
    head: tuple[str, ...] = ("quantity", "value", "meaning")
    if timing.is_short:
        head, rows = head[:2], [row[:2] for row in rows]
    body = table(head, rows, class_="facts")
    lead = _OF_SHORT_RUN if timing.is_short else ""
    return card("ratios", "What it means", element("div", body, class_="scroll"), lead=lead, note=_SOURCE)


def _of_reading(of: Observables) -> str:
    ratio = of.ratio_comp_io
    if not of.t_io.any():
        return "No worker spent time reading."
    if ratio >= COMPUTE_BOUND:
        return "At least 1: computing takes longer than reading. A single shared file is fine."
    return (
        "Below 1: reading takes longer than computing. On many nodes, avoid frame-by-frame access to one shared file: "
        "use parallel HDF5, or one segment per worker."
    )


def _of_communication(of: Observables) -> str:
    if not of.t_comm.any():
        return "No worker spent time sending results."
    if of.ratio_comp_comm <= NEGLIGIBLE_COMMUNICATION < of.ratio_comp_transfer:
        return "At most 1 because workers wait for late ones. The transfer alone takes less time than computing."
    if of.ratio_comp_comm <= NEGLIGIBLE_COMMUNICATION:
        return "At most 1: sending results takes at least as long as computing them. Use a global array."
    if of.ratio_comp_comm < _FAR_ABOVE:
        return "Slightly above 1: sending results will limit the scaling to more workers."
    return "Far above 1: you can gather results without further measures."


def _of_balance(mean: float, of: Observables) -> str:
    if len(of.ranks) == 1:
        return "A single worker is always balanced."
    lost = amount(of.t_total - mean, SECONDS)
    return f"With equal shares of the work, the run would have ended {lost} sooner."
