"""Ratios, efficiency and guidelines of a run."""

import numpy as np

from mdreel.foundation.formatting import SECONDS, amount, digits, percent
from mdreel.foundation.html.markup import Markup, element, table
from mdreel.timing.guidelines import COMPUTE_BOUND, NEGLIGIBLE_COMMUNICATION
from mdreel.timing.observables import Observables
from mdreel.timing.report.card import card
from mdreel.timing.timing import Timing

_FAR_ABOVE = 10.0
_SOURCE = (
    "Guidelines of Khoshlessan et al. (2020), section 8. They define R_comp/io for a serial run; here it is the ratio "
    "of the total times of all ranks, including contention. The efficiency is an estimate: it uses t_io + t_comp of "
    "all ranks as the time of a serial run."
)


def ratios(timing: Timing) -> Markup:
    """Tabulate ratios and efficiency with their interpretation."""
    of = timing.observables
    if not len(of.ranks):
        return card("ratios", "What it means", note="No rank recorded anything.")
    n_ranks = len(of.ranks)
    working = float((of.t_io + of.t_comp).sum())
    whole = max(n_ranks * of.t_total, 1e-300)
    mean = float(np.mean(of.t_n))
    rows = [
        ("R_comp/io", digits(of.ratio_comp_io), _of_reading(of)),
        ("R_comp/comm", digits(of.ratio_comp_comm), _of_communication(of)),
        ("t_total", amount(of.t_total, SECONDS), "The time of the slowest rank."),
        ("mean t_N / t_total", percent(mean / max(of.t_total, 1e-300)), _of_balance(mean, of)),
        (
            "E(N), estimated",
            percent(working / whole),
            f"The share of N × t_total in which the rank{'s' * (n_ranks > 1)} read and computed.",
        ),
    ]
    body = table(("quantity", "value", "meaning"), rows, class_="facts")
    return card("ratios", "What it means", element("div", body, class_="scroll"), note=_SOURCE)


def _of_reading(of: Observables) -> str:
    ratio = of.ratio_comp_io
    if not of.t_io.any():
        return "No rank spent time reading."
    if ratio >= COMPUTE_BOUND:
        return "At least 1: computing takes longer than reading. A single shared file is fine."
    return (
        "Below 1: reading takes longer than computing. On many nodes, avoid frame-by-frame access to one shared file: "
        "use parallel HDF5, or one segment for each rank."
    )


def _of_communication(of: Observables) -> str:
    if not of.t_comm.any():
        return "No rank spent time sending results."
    if of.ratio_comp_comm <= NEGLIGIBLE_COMMUNICATION:
        return "At most 1: sending results takes at least as long as computing them. Use a global array."
    if of.ratio_comp_comm < _FAR_ABOVE:
        return "Slightly above 1: sending results will limit the scaling to more ranks."
    return "Far above 1: you can gather results without further measures."


def _of_balance(mean: float, of: Observables) -> str:
    if len(of.ranks) == 1:
        return "A single rank is always balanced."
    lost = amount(of.t_total - mean, SECONDS)
    return f"With equal shares of the work, the run would have ended {lost} sooner."
