"""The public names of mdreel, and those that its reference describes."""

import importlib
import inspect
import re
from collections.abc import Iterable

from architecture.checkout import ROOT

MODULES = (
    "mdreel",
    "mdreel.analysis",
    "mdreel.cluster",
    "mdreel.cluster.advice",
    "mdreel.errors",
    "mdreel.live",
    "mdreel.live.engines.imd",
    "mdreel.live.ensemble",
    "mdreel.live.nodes",
    "mdreel.live.steering",
    "mdreel.mdanalysis",
    "mdreel.results",
    "mdreel.timing.report",
    "mdreel.trajectory",
    "mdreel.transformations",
)
"""The modules that declare public names."""

REFERENCE = ROOT / "docs" / "reference"


def object_of(name: str) -> object:
    """Return what a full name stands for."""
    module, _, attribute = name.rpartition(".")
    found: object = getattr(importlib.import_module(module), attribute)
    return found


def public_names() -> list[str]:
    """Return the full names of all public classes and functions."""
    found = []
    for module in map(importlib.import_module, MODULES):
        names = getattr(module, "__all__", None) or dir(module)
        full = [f"{module.__name__}.{name}" for name in names]
        found += [name for name in full if not inspect.ismodule(object_of(name))]
    return found


def described_names() -> list[str]:
    """Return the full names that the pages of the reference describe."""
    found = []
    for page in [*(REFERENCE / "api").glob("*.md"), REFERENCE / "errors.md"]:
        text = page.read_text(encoding="utf-8")
        for block in re.findall(r"^\.\. autosummary::\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
            found += re.findall(r"^   (mdreel[\w.]+)$", block, re.MULTILINE)
        found += re.findall(r"^\.\. autoexception:: (\S+)$", text, re.MULTILINE)
    return found


def undescribed(public: Iterable[str], described: Iterable[str]) -> list[str]:
    """Return the public names whose object has no description; a second name of an object needs none."""
    known = {id(object_of(name)) for name in described}
    return [name for name in public if id(object_of(name)) not in known]
