"""Submodules that are imported when they are first used as attributes of their package."""

import sys
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules
from types import ModuleType


def submodule(package: str, name: str) -> ModuleType:
    """Import a submodule. Packages call this function for names that they do not define.

    Parameters
    ----------
    package : str
        Full name of the package.
    name : str
        Name of the submodule.

    Raises
    ------
    AttributeError
        If the package has no such submodule. The message suggests the attribute that was probably meant.
    """
    if name.startswith("_") or find_spec(f"{package}.{name}") is None:
        raise AttributeError(f"module {package!r} has no attribute {name!r}{_hint(package, name)}")
    return import_module(f"{package}.{name}")


def submodule_names(package: str) -> list[str]:
    """Return the names of the public submodules of a package."""
    return [one.name for one in iter_modules(sys.modules[package].__path__) if not one.name.startswith("_")]


def _hint(package: str, name: str) -> str:
    from difflib import get_close_matches  # rarely needed

    names = dir(sys.modules[package])
    same = [one for one in names if one.lower() == name.lower()]
    close = same or get_close_matches(name, names, 1)
    return f": did you mean {close[0]!r}?" if close else ""
