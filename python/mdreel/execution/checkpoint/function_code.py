"""Globals, modules and instructions in a function's bytecode."""

from __future__ import annotations

import dis
import hashlib
import importlib
import importlib.util
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import CodeType, ModuleType
from typing import Any

_HAS_DOCSTRING = 0x4000000
"""Flag for code whose first constant is its docstring, as of Python 3.14."""


def bytecode(code: CodeType, digest: Callable[[Any], bytes], docstring: str | None = None) -> bytes:
    """Return a digest of the behaviour of code, which does not depend on its file and line numbers.

    Parameters
    ----------
    code : CodeType
        The code.
    digest : callable
        Function that returns the digest of a constant.
    docstring : str, optional
        Docstring of the code, which is ignored by the digest.
    """
    constants = list(code.co_consts)
    if docstring is not None and constants and constants[0] == docstring:
        constants[0] = None
    found = hashlib.sha256(code.co_code)
    found.update(code.co_exceptiontable)
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags & ~_HAS_DOCSTRING)
    found.update(repr((names, counts, len(constants))).encode())
    for constant in constants:
        found.update(digest(constant))
    return found.digest()


def nested(code: CodeType) -> Iterator[CodeType]:
    """Yield a code object, and the code objects of all functions within it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from nested(constant)


def names_in(code: CodeType) -> set[str]:
    """Return all names of globals and attributes in a code object."""
    return {name for each in nested(code) for name in each.co_names}


def global_names(code: CodeType) -> list[str]:
    """Return the names of all globals that a code object looks up."""
    looked_up = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")
    found = {str(one.argval) for each in nested(code) for one in dis.get_instructions(each) if one.opname in looked_up}
    return sorted(found)


def imported_modules(code: CodeType, space: dict[str, Any]) -> list[ModuleType]:
    """Return the modules that a code object imports while it runs."""
    found = []
    for each in nested(code):
        steps = list(dis.get_instructions(each))
        for i, step in enumerate(steps):
            if step.opname != "IMPORT_NAME":
                continue
            level = steps[i - 2].argval
            name = "." * (level if isinstance(level, int) else 0) + str(step.argval)
            with suppress(Exception):  # a failing import also fails when the code runs
                absolute = importlib.util.resolve_name(name, space.get("__package__"))
                found.append(importlib.import_module(absolute))
    return found
