"""Descriptions of chains of files that are kept for later runs with several processes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from mdreel._core import Source, keep_chain, kept_chain
from mdreel.errors import MdreelError
from mdreel.execution.serving_processes import current_helpers, current_kept
from mdreel.execution.shared_files import SharedFiles
from mdreel.trajectory.open_one import CORE_FORMATS
from mdreel.trajectory.remote import RemoteFile

_SEPARATOR = "\0"
"""Separator of paths, which cannot be part of a path."""


def open_kept(paths: Sequence[str | RemoteFile], options: dict[str, Any], overlaps: str) -> Source | None:
    """Open a chain whose description was kept by an earlier run. Processes that serve this process open its files.

    Parameters
    ----------
    paths : sequence of str or RemoteFile
        The files.
    options : dict
        Options of `mdreel.trajectory.open.open`.
    overlaps : {"keep", "drop"}
        How to handle overlapping times.

    Returns
    -------
    Source or None
        The chain, or None if it has no description, or if a file has changed since the description was made. In
        `with_later_check`, the check for changes may still last.
    """
    helpers, kept = current_helpers(), current_kept()
    if helpers is None or kept is None or not 1 < helpers.n_processes <= len(paths):
        return None
    if (named := _named(paths, options)) is None:
        return None
    kept.item = None  # closes the files of an earlier chain
    found = kept_chain(named, options["format"], options["access"], options["index"], overlaps)
    if found is None:
        return None
    chain, check = found
    if check is not None and kept.checks_later and kept.check is None:
        kept.check = check
    elif check is not None and not check.are_unchanged():
        return None
    return chain


def keep_when_whole(
    chain: Source,
    paths: Sequence[str | RemoteFile],
    options: dict[str, Any],
    overlaps: str,
    facts: list[dict[str, Any]],
) -> None:
    """Keep the description of a chain for later runs, now or when all files are known to end with a complete frame.

    Parameters
    ----------
    chain : Source
        The chain, which several processes have opened together.
    paths, options, overlaps
        See `open_kept`.
    facts : list of dict
        Facts about each file, as returned by `Source.describe`.
    """
    named, kept = _named(paths, options), current_kept()
    shared = None if kept is None else kept.item
    if named is None or not isinstance(shared, SharedFiles):
        return

    def keep() -> None:
        # Later runs also work without the description.
        with suppress(MdreelError, OSError, TypeError, ValueError):
            keep_chain(chain, named, options["format"], options["index"], overlaps, json.dumps(facts))

    shared.keep = keep
    if shared.is_whole:
        keep()


def _named(paths: Sequence[str | RemoteFile], options: dict[str, Any]) -> str | None:
    """Return the joined paths, or None if the chain cannot have a description."""
    format_ = options["format"]
    is_ours = format_ is None or format_.upper() in CORE_FORMATS
    if not is_ours or options["index"] == "none" or len(paths) < 2:
        return None
    try:
        named = _SEPARATOR.join(paths)  # type: ignore[arg-type]
    except TypeError:  # a remote file
        return None
    is_text = named.count(_SEPARATOR) == len(paths) - 1 and _is_unicode(named)
    return named if is_text else None


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
