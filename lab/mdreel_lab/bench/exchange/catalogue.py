"""The solutions that there are, and the ways of synchronising that each has."""

from collections.abc import Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any

from mdreel_lab.bench.exchange.solutions.files import SYNCHRONISATIONS

OWN = "own"
"""The way of synchronising of a solution that has one."""

SHARED, MOOSEFS = "shared", "moosefs"
"""Files on a file system of all nodes: one that is there, and one that is started."""

_FILES = "files"
_MODULES: Mapping[str, str] = MappingProxyType(
    {
        "channel-ring": "channel",
        "channel-file": "channel",
        "managed": "managed",
        "local": _FILES,
        "xfs": _FILES,
        SHARED: _FILES,
        MOOSEFS: _FILES,
        "sst": "sst",
        "dyad": "dyad",
    }
)
SOLUTIONS = tuple(_MODULES)


def module_of(solution: str) -> Any:
    """Return the module of a solution; see `mdreel_lab.bench.exchange.solutions`."""
    return import_module(f"mdreel_lab.bench.exchange.solutions.{_MODULES[solution]}")


def synchronisations_of(solution: str) -> tuple[str, ...]:
    """Return the ways of synchronising that a solution has."""
    return SYNCHRONISATIONS if _MODULES[solution] == _FILES else (OWN,)
