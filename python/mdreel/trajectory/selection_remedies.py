"""Hints for error messages about selections that are invalid or do not match any atoms."""

import re
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np

LANGUAGE = "https://userguide.mdanalysis.org/stable/selections.html"
"""Documentation of the MDAnalysis selection language."""

_ATTRIBUTES = {
    "name": "names",
    "type": "types",
    "element": "elements",
    "resname": "resnames",
    "segid": "segids",
    "chainID": "chainIDs",
}
"""Keywords that are followed by values of a topology attribute."""

_KEYWORDS = (
    *_ATTRIBUTES,
    *("protein", "backbone", "nucleic", "water", "resid", "resnum", "index", "bynum", "id", "mass", "charge", "prop"),
    *("around", "sphzone", "sphlayer", "cyzone", "cylayer", "point", "byres", "same", "bonded", "group", "global"),
    *("all", "and", "or", "not", "altloc", "icode", "moltype", "molnum", "smarts", "isolayer"),
)
_NAMED = re.compile(rf"\b({'|'.join(_ATTRIBUTES)})\s+((?:(?!(?:and|or|not)\b)[^\s()]+\s*)+)")
_UNKNOWN = re.compile("selection token: '(.+?)'")
_MISSING = re.compile(r"'Topology' object has no attribute '(\w+)'")
_MOST_VALUES = 6


def reason_with_remedy(error: Exception) -> str:
    """Return why MDAnalysis cannot apply a selection, and a hint on how to fix it.

    Parameters
    ----------
    error : Exception
        The error from MDAnalysis.
    """
    missing = _MISSING.search(str(error))
    if missing is not None:
        return f"the topology has no {missing[1]}: use a topology that has them, such as PDB, PSF or TPR"
    return f"{' '.join(str(error).split())}: {remedy_for_syntax(str(error))}"


def remedy_for_syntax(message: str) -> str:
    """Return a hint on how to fix a selection that MDAnalysis cannot parse.

    Parameters
    ----------
    message : str
        The error message from MDAnalysis.
    """
    unknown = _UNKNOWN.search(message)
    if unknown is not None and unknown[1] == "None":
        return f"the selection ends too early, see {LANGUAGE}"
    if "'None' Expected: ')'" in message:
        return "a closing ')' is missing"
    close = get_close_matches(unknown[1], _KEYWORDS, 1) if unknown is not None else []
    return f"did you mean {close[0]!r}?" if close else f"see {LANGUAGE}"


def remedy_for_no_atoms(of: Any, selections: Sequence[str]) -> str:
    """Return a hint on how to fix selections that do not match any atoms.

    Parameters
    ----------
    of : MDAnalysis.Universe or AtomGroup
        The atoms to which the selections were applied.
    selections : sequence of str
        The selections.
    """
    if not all(selection.strip() for selection in selections):
        return "the selection is empty: give one such as 'protein and name CA', or 'all'"
    if len(of.atoms) == 0:
        return "it is applied to a group without atoms, change the selection that the group was made with"
    for keyword, value in _named_values(selections):
        values = np.unique([str(one) for one in getattr(of.atoms, _ATTRIBUTES[keyword], ())]).tolist()
        if value in values or any(sign in value for sign in "*?["):
            continue
        same = [one for one in values if one.lower() == value.lower()] or get_close_matches(value, values, 1)
        if same:
            return f"no atom has the {keyword} {value!r}, did you mean {same[0]!r}?"
        if values:
            return f"no atom has the {keyword} {value!r}, only {_first(values)}"
    names = np.unique(getattr(of.residues, "resnames", ())).tolist()
    residues = f"; there are the residues {_first(names)}" if names else ""
    return f"no atom matches all conditions, try each of them alone{residues}"


def _first(values: Sequence[str]) -> str:
    return ", ".join(map(str, values[:_MOST_VALUES])) + (", ..." if len(values) > _MOST_VALUES else "")


def _named_values(selections: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the keywords together with the values that follow them."""
    for selection in selections:
        for keyword, words in _NAMED.findall(selection):
            for word in words.split():
                yield keyword, word
