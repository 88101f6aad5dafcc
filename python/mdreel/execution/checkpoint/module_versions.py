"""Origin and version of Python modules."""

from __future__ import annotations

import importlib.metadata
import platform
import sys
import sysconfig
from functools import lru_cache
from pathlib import Path

from mdreel._core import commit, version

OWN_CODE = None
"""Origin of modules that belong to the user. They can be identified only by their code."""

PYTHON = "Python"


def own_version() -> str:
    """Return the version of mdreel, including the commit of its extension."""
    built_from = commit()
    return version() if built_from is None else f"{version()} ({built_from})"


def version_of_python() -> str:
    """Return the implementation and the version of Python, which determine its bytecode."""
    return f"{platform.python_implementation()} {platform.python_version()}"


def version_of(distribution: str) -> str:
    """Return the version of an installed distribution."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


def origin_of(module: str | None) -> str | None:
    """Return the origin of a module.

    Parameters
    ----------
    module : str or None
        Name of the module, or None for objects without a module, such as built-in types.

    Returns
    -------
    str or None
        `PYTHON`, the name of an installed distribution, or `OWN_CODE`. Editable installations are considered as
        `OWN_CODE`, because their sources can change without a change of the version.
    """
    if module is None:
        return PYTHON
    top = module.partition(".")[0]
    if top == "mdreel":
        return "mdreel"
    if top != "__main__" and top in sys.stdlib_module_names:
        return PYTHON
    file = getattr(sys.modules.get(module) or sys.modules.get(top), "__file__", None)
    if file is None or not _is_installed(file):
        return OWN_CODE
    return _distributions().get(top, OWN_CODE)


def file_of_compiled(module: str | None) -> bytes | None:
    """Return the content of a compiled module that belongs to the user, or None for other modules."""
    file = getattr(sys.modules.get(module or ""), "__file__", None)
    return None if file is None or Path(file).suffix in (".py", ".pyc") else Path(file).read_bytes()


def _is_installed(file: str) -> bool:
    if {"site-packages", "dist-packages"} & {*Path(file).parts}:
        return True
    return any(Path(file).is_relative_to(sysconfig.get_path(name)) for name in ("purelib", "platlib"))


@lru_cache(maxsize=1)
def _distributions() -> dict[str, str]:
    """Return the distribution of each importable name."""
    return {name: min({*of}) for name, of in importlib.metadata.packages_distributions().items()}
