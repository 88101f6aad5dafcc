"""Parallel analysis of molecular dynamics trajectories, as fast as the hardware allows."""

from typing import Any

import lazy_loader

from mdreel.foundation.submodules import submodule

_get, __dir__, _names = lazy_loader.attach_stub(__name__, __file__)

__all__ = [name for name in _names if not name.endswith(("Error", "Warning"))]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from mdreel._core import version

        return version()
    return _get(name) if name in _names else submodule(__name__, name)
