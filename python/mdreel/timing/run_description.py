"""Descriptions of runs, including the computation, its files and its atoms."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mdreel.foundation.html.picture import Picture


@dataclass(frozen=True)
class AnalysisDescription:
    """Description of an analysis in a run.

    Attributes
    ----------
    title : str
        Name of the analysis.
    selection : str
        Atoms of the analysis, in words or as a selection string.
    n_atoms : int
        Number of atoms.
    summary : str
        Numerical results, as one or more lines of text.
    picture : Picture or None
        Plot of the results. It is not stored in files of spans.
    no_picture : str
        Reason why there is no plot.
    """

    title: str
    selection: str
    n_atoms: int
    summary: str = ""
    picture: Picture | None = field(default=None, repr=False)
    no_picture: str = "a file of spans contains no plots"


@dataclass(frozen=True)
class RunDescription:
    """Description of a run.

    Attributes
    ----------
    call : str
        The command line or the Python call.
    topology, trajectory : str
        Names of the files. They are empty if there are no files.
    frames : str
        The analysed frames, in words.
    analyses : tuple of AnalysisDescription
        The analyses of the run.
    """

    call: str
    topology: str
    trajectory: str
    frames: str
    analyses: tuple[AnalysisDescription, ...]


_TEXTS = ("call", "topology", "trajectory", "frames")
_ANALYSIS_TEXTS = ("title", "selection", "summary")


def description_in_json(description: RunDescription | None) -> dict[str, Any] | None:
    """Return a description for the header of a file, without plots."""
    if description is None:
        return None
    analyses = [
        {**{name: getattr(one, name) for name in _ANALYSIS_TEXTS}, "n_atoms": one.n_atoms}
        for one in description.analyses
    ]
    return {**{name: getattr(description, name) for name in _TEXTS}, "analyses": analyses}


def description_of_json(value: Any) -> RunDescription | None:
    """Read a description from the header of a file.

    Raises
    ------
    ValueError
        If the value is not a description.
    """
    if value is None:
        return None
    texts = _texts(value, "run", _TEXTS)
    analyses = value.get("analyses")
    if not isinstance(analyses, list):
        raise ValueError("run: expected a list of analyses")
    return RunDescription(**texts, analyses=tuple(map(_analysis, analyses)))


def _analysis(value: Any) -> AnalysisDescription:
    texts = _texts(value, "analysis of the run", _ANALYSIS_TEXTS)
    n_atoms = value.get("n_atoms")
    if not isinstance(n_atoms, int) or isinstance(n_atoms, bool) or n_atoms < 0:
        raise ValueError(f"n_atoms: expected a whole number from 0, got {n_atoms!r}")
    return AnalysisDescription(texts["title"], texts["selection"], n_atoms, texts["summary"])


def _texts(value: Any, kind: str, names: tuple[str, ...]) -> dict[str, str]:
    for name in names:
        if not isinstance(value, Mapping) or not isinstance(value.get(name), str):
            raise ValueError(f"{kind}: expected {name} as text")
    return {name: value[name] for name in names}
