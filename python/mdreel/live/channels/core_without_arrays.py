"""Functions of the core that need no arrays, for processes that do not load NumPy.

The module ``mdreel._core`` imports NumPy when it is loaded. Its library contains a second extension module, which does
not. A server that only reads the state of channels therefore takes half the memory.
"""

from collections.abc import Callable, Sequence
from importlib.machinery import ExtensionFileLoader
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from os import PathLike
from types import ModuleType
from typing import Any

_NAME = "mdreel._without_arrays"


def _load() -> ModuleType:
    core = find_spec("mdreel._core")
    if core is None or core.origin is None:
        raise ImportError("mdreel is installed without its core; install it again")
    spec = spec_from_file_location(_NAME, core.origin, loader=ExtensionFileLoader(_NAME, core.origin))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


_MODULE = _load()

channel_status: Callable[[str | PathLike[str]], dict[str, Any]] = _MODULE.channel_status
channel_frame_bytes: Callable[[Sequence[int]], int] = _MODULE.channel_frame_bytes
channel_xtc_frame_bytes: Callable[[int], int] = _MODULE.channel_xtc_frame_bytes
return_freed_memory: Callable[[], None] = _MODULE.return_freed_memory
