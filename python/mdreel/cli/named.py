"""Analyses of a file that have names, by which other parts of the file, or tables, are called."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mdreel.cli.exits import CommandError, ExitCode


def named(
    path: Path, content: Mapping[str, Any], check: Callable[[str, dict[str, Any]], object] = lambda where, one: None
) -> tuple[list[str], dict[str, Any]]:
    """Return the names of the analyses, and the content without them, as recipes have none.

    Parameters
    ----------
    path : Path
        The file.
    content : mapping
        What it says.
    check : callable
        Is given where an analysis stands, and what is said of it; raises what is wrong with that.

    Raises
    ------
    CommandError
        If a name is none, or there twice.
    """
    entries = content.get("analysis", [])
    if not isinstance(entries, list) or not all(isinstance(one, dict) for one in entries):
        return [], dict(content)  # the recipe's own check says what is wrong
    names: list[str] = []
    for i, one in enumerate(entries, 1):
        name = one.get("name", one.get("type"))
        where = f"{path}: analysis {i}"
        if "name" in one and (not isinstance(name, str) or not name):
            raise CommandError(f"{where}: name: expected a text, got {name!r}", ExitCode.INPUT)
        check(where, one)
        if name in names:
            raise CommandError(f"{where}: there are several {name!r}: give each a name", ExitCode.INPUT)
        names.append(str(name))
    unnamed = [{key: value for key, value in one.items() if key != "name"} for one in entries]
    return names, {**content, "analysis": unnamed} if entries else dict(content)
