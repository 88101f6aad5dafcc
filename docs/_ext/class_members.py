"""The members that the page of a class shows.

The methods that all analyses share are described once, on the page of their base class. Methods by which the parts of
mdreel call each other are not shown.
"""

import inspect
from typing import Any

from sphinx.application import Sphinx
from sphinx.util import import_object

from mdreel.analysis.base.analysis import Analysis

_SHARED = ("run", "plot", "save", "to_dataframe", "to_xarray")
_SHARED_TOO = (
    "set_trajectory",
    "get_supported_backends",
    "atomgroup",
    "frames",
    "times",
    "n_frames",
    "timing",
    "damage",
)
_HOOKS = ("fitting", "has_candidates")
"""Methods that some analyses share and that only mdreel calls."""
_BASE = f"{Analysis.__module__}.{Analysis.__qualname__}"


def is_analysis(name: str) -> bool:
    """Return whether a class is an analysis, but not their base class."""
    found = import_object(name)
    return isinstance(found, type) and issubclass(found, Analysis) and found is not Analysis


def own_methods(name: str) -> list[str]:
    """Return the methods for users that an analysis defines itself."""
    members = vars(import_object(name))
    hidden = {*_HOOKS, *dir(Analysis), *getattr(import_object(name), "_moved_to_results", {})}
    found = {one for one in members if not one.startswith("_") and one not in hidden and _has_docstring(members[one])}
    return sorted(found | {one for one in _SHARED if one in members})


def members_of(name: str) -> list[str]:
    """Return the public members of a class, also those of bases that mdreel defines."""
    found = import_object(name)
    if found is Analysis:
        return [*_SHARED, *_SHARED_TOO]
    own = (base for base in found.__mro__ if base.__module__.startswith("mdreel"))
    return sorted(
        {one for base in own for one, value in vars(base).items() if not one.startswith("_") and _has_docstring(value)}
    )


def _has_docstring(member: object) -> bool:
    """Return whether a member has a description for users; workers call some methods of an analysis."""
    is_member = inspect.isroutine(member) or isinstance(member, property) or hasattr(member, "func")
    text = inspect.getdoc(member) or ""
    return is_member and bool(text) and "workers" not in text.split("\n")[0]


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.config.autosummary_context = {
        "is_analysis": is_analysis,
        "members_of": members_of,
        "own_methods": own_methods,
        "shared_class": _BASE,
        "shared_methods": _SHARED,
    }
    return {"parallel_read_safe": True, "parallel_write_safe": True}
