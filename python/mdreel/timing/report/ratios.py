"""Ratios, efficiency and guidelines of a run."""

import numpy as np

from mdreel.foundation.formatting import SECONDS, amount, digits, percent
from mdreel.foundation.html.markup import Markup, element, table
from mdreel.timing.guidelines import COMPUTE_BOUND, SCALES_AS_IT_IS
from mdreel.timing.observables import Observables
from mdreel.timing.report.card import card
from mdreel.timing.timing import Timing

_MUCH = 10.0  # so many times as much is much more

_SOURCE = (
    "Guidelines of Khoshlessan et al. (2020), section 8. Their R_comp/io is that of a serial run; of several ranks it "
    "says how the time of all of them was divided, contention included. The efficiency is estimated: it takes for the "
    "time of a serial run the t_io + t_comp of all ranks together."
)


def ratios(timing: Timing) -> Markup:
    """Tabulate ratios and efficiency, with what they mean.

    Parameters
    ----------
    timing : Timing
        Of the run.
    """
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
        ("t_total", amount(of.t_total, SECONDS), "The whole time of the slowest rank."),
        ("mean t_N / t_total", percent(mean / max(of.t_total, 1e-300)), _of_balance(mean, of)),
        (
            "E(N), estimated",
            percent(working / whole),
            f"The share of N × t_total in which {_who(n_ranks)} read and computed.",
        ),
    ]
    body = table(("quantity", "value", "what it says"), rows, class_="facts")
    return card("ratios", "What it means", element("div", body, class_="scroll"), note=_SOURCE)


def _of_reading(of: Observables) -> str:
    ratio = of.ratio_comp_io
    if not of.t_io.any():
        return "No rank spent time on reading."
    if ratio >= COMPUTE_BOUND:
        return "At least 1: computing outweighs reading. A single shared file is fine."
    return (
        "Below 1: reading outweighs computing. On many nodes, avoid frame-by-frame access to one shared file: use "
        "parallel HDF5, or segments, one for each rank."
    )


def _of_communication(of: Observables) -> str:
    if not of.t_comm.any():
        return "No rank spent time on sending results."
    if of.ratio_comp_comm <= SCALES_AS_IT_IS:
        return "At most 1: sending results takes as long as computing them. Put them on a global array."
    if of.ratio_comp_comm < _MUCH:
        return "Above 1, but not by far: sending results will show on more ranks."
    return "Far above 1: results can be gathered as they are."


def _of_balance(mean: float, of: Observables) -> str:
    if len(of.ranks) == 1:
        return "One rank waits for no other."
    lost = amount(of.t_total - mean, SECONDS)
    return f"All ranks would have ended {lost} sooner, had each done as much as the others."


def _who(n_ranks: int) -> str:
    return "the rank" if n_ranks == 1 else "the ranks"
