"""Requirements of an analysis on coordinates in a periodic cell."""

from dataclasses import dataclass

FOLLOWED = "run(transformations=[mdreel.transformations.nojump()]) in Python, --transform nojump on the command line"
"""How jumps are undone before any analysis."""


@dataclass(frozen=True)
class Boundaries:
    """What an analysis requires of molecules that the boundary of the cell may cut.

    Attributes
    ----------
    why : str
        Why the analysis requires this, or why it requires nothing.
    whole : bool
        Whether molecules must be whole: the analysis computes distances between atoms without periodic images.
    paths : bool
        Whether atoms must not jump across the cell: the analysis compares positions at different times.
    remedy : str
        How jumps are undone for this analysis.
    """

    why: str
    whole: bool = False
    paths: bool = False
    remedy: str = FOLLOWED
