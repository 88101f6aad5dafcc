"""Files of results that can be downloaded from the page."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mdreel.errors import MismatchError
from mdreel.live.watch.connections import Answer
from mdreel.live.watch.managed_analyses import ManagedAnalysis
from mdreel.live.watch.snapshot import AnalysisSnapshot, ChannelSnapshot

if TYPE_CHECKING:
    from mdreel.results.column import Column

KINDS = {
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    "npz": "application/octet-stream",
    "xvg": "text/plain; charset=utf-8",
}
"""Types of files by their format."""


def download(channel: ChannelSnapshot, key: str, form: str, managed: Sequence[ManagedAnalysis]) -> Answer | None:
    """Return the results of an analysis as a file.

    Parameters
    ----------
    channel : ChannelSnapshot
        The channel.
    key : str
        Key of the analysis.
    form : str
        Format of the file, one of `KINDS`.
    managed : sequence of ManagedAnalysis
        Analyses of the page. Their files contain all results; those of other analyses contain the rows of their
        notices.

    Returns
    -------
    Answer or None
        The file, or None if there is no such analysis.

    Raises
    ------
    MismatchError
        If the format is unknown, or if there are no results.
    StreamError
        If an analysis of the page cannot deliver its results.
    """
    if form not in KINDS:
        raise MismatchError(f"the format must be one of {', '.join(KINDS)}, not {form!r:.20}")
    analysis = next((one for one in channel.analyses if one.key == key), None)
    if analysis is None:
        return None
    own = next((one for one in managed if one.process.number == analysis.process), None)
    import tempfile  # needed for downloads only, and the server is small

    from mdreel.results.files import write

    with tempfile.TemporaryDirectory(prefix="mdreel-") as folder:
        path = Path(folder) / f"results.{form}"
        if own is None:
            write(path, _columns(analysis), {"title": analysis.name})
        else:
            own.process.save(path)
        content = path.read_bytes()
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", f"{channel.name}-{analysis.name}").strip("-.")
    return Answer(KINDS[form], content, file_name=f"{name or 'results'}.{form}")


def _columns(analysis: AnalysisSnapshot) -> "list[Column]":
    import numpy as np  # needed for downloads only, and the server is small

    from mdreel.results.column import Column

    notice = analysis.notice
    if notice is None or not notice.curve:
        raise MismatchError(f"{analysis.name} has no results yet")
    values = list(np.asarray(notice.curve).T)
    if notice.is_of_frames:
        values[0] = values[0].astype(np.int64)
    return [Column(name, unit, one) for (name, unit), one in zip(notice.columns, values, strict=True)]
