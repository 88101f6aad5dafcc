"""Descriptions of finished analyses for the report page."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mdreel.timing.run_description import AnalysisDescription

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST_NAMES = 6
"""Maximum number of atom names in a description."""


def frames_text(frames: NDArray[np.int64], times: NDArray[np.float64]) -> str:
    """Return the analysed frames in words, such as "98 frames, 0 to 97 (0 to 97 ps)".

    Parameters
    ----------
    frames : ndarray, shape (n_frames,), int64
        Numbers of the frames.
    times : ndarray, shape (n_frames,), float64
        Times of the frames in ps.
    """
    if not len(frames):
        return "none"
    if len(frames) == 1:
        return f"1 frame, number {frames[0]:,} ({times[0]:,.6g} ps)"
    steps = np.unique(np.diff(frames))
    stride = f" in steps of {steps[0]:,}" if len(steps) == 1 and steps[0] > 1 else ""
    return f"{len(frames):,} frames, {frames[0]:,} to {frames[-1]:,}{stride} ({times[0]:,.6g} to {times[-1]:,.6g} ps)"


def plotted(described: AnalysisDescription, draw: "Callable[[], Figure]") -> AnalysisDescription:
    """Return a description with its plot, or with the reason why no plot was drawn.

    Parameters
    ----------
    described : AnalysisDescription
        Description of the analysis.
    draw : callable
        Function that draws the results.
    """
    try:
        from mdreel.results.page_picture import page_picture

        return replace(described, picture=page_picture(draw()))
    except Exception as error:  # noqa: BLE001 (the report is useful without a plot, which users' own code may draw)
        reason = " ".join(str(error).split()) or type(error).__name__
        return replace(described, no_picture=reason)


def atoms_text(atomgroup: Any) -> str:
    """Describe a group of atoms by its selection if the group stores one, and otherwise by its contents.

    Parameters
    ----------
    atomgroup : MDAnalysis.AtomGroup
        The group.
    """
    selections = getattr(atomgroup, "_selection_strings", None)
    if selections:
        return " and ".join(map(str, selections))
    n_residues = len(np.unique(atomgroup.resindices))
    residues = f"{n_residues:,} residue{'s' * (n_residues != 1)}"
    try:
        names = np.unique(atomgroup.names)
    except AttributeError:  # the topology has no names
        return residues
    return f"{', '.join(map(str, names))} of {residues}" if len(names) <= _MOST_NAMES else residues
