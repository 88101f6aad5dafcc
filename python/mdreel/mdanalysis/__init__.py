"""Readers and executors of mdreel for use with MDAnalysis."""

from typing import Any

import lazy_loader

from mdreel.foundation.submodules import submodule

_get, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    return _get(name) if name in __all__ else submodule(__name__, name)
