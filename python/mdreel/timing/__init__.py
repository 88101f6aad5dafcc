"""Timing of runs, in the terms of the literature."""

from typing import Any

from mdreel.foundation.submodules import submodule, submodule_names


def __getattr__(name: str) -> Any:
    return submodule(__name__, name)


def __dir__() -> list[str]:
    return submodule_names(__name__)
