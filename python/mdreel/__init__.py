"""Parallel analysis of molecular dynamics trajectories, as fast as the hardware allows."""

from typing import Any

import lazy_loader

_get, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from mdreel._core import version

        return version()
    return _get(name)
