"""Summary of a trajectory."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from mdreel._core import FrameSet, Source
from mdreel.errors import FormatError
from mdreel.foundation.arguments import checked_arguments
from mdreel.foundation.file_system import file_system, stripes
from mdreel.trajectory.frame_times import intervals
from mdreel.trajectory.open import Stored
from mdreel.trajectory.open import open as open_trajectory

Facts = dict[str, Any]


@checked_arguments
def info(trajectory: Stored) -> Facts:
    """Return a summary of a trajectory.

    Parameters
    ----------
    trajectory : path, sequence of paths, or Source
        The trajectory.

    Returns
    -------
    dict
        The properties of the trajectory, in which missing values are None. You can use the following keys:

        * ``n_atoms`` and ``n_frames``,
        * ``first_time_ps``, ``last_time_ps``, ``shortest_interval_ps``, ``usual_interval_ps`` and
          ``longest_interval_ps``,
        * ``gaps`` in time, ``repeated_times`` and ``backward_times``, each given as a list of the first frames after
          them,
        * ``first_box`` (lengths in Å, angles in degrees),
        * ``size_bytes`` and ``bytes_per_frame``,
        * ``torn_end``, a message about an incomplete frame at the end,
        * ``files``, with the format properties of each file, its ``file system`` and, on Lustre, its ``stripes``.

    Raises
    ------
    FormatError, OSError
        If the trajectory cannot be read.

    Notes
    -----
    When a file does not have a frame index yet, all headers will be read to create the index. Coordinates are not read.

    Examples
    --------
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import XTC
    >>> facts = mdreel.trajectory.info(XTC)
    >>> facts["n_frames"], facts["n_atoms"], facts["usual_interval_ps"]
    (10, 47681, 100.0)
    """
    source = trajectory if isinstance(trajectory, Source) else open_trajectory(trajectory)
    times = source.times()
    found = intervals(times)
    n_frames = source.n_frames
    return {
        "n_atoms": source.n_atoms,
        "n_frames": n_frames,
        "first_time_ps": float(times[0]) if n_frames else None,
        "last_time_ps": float(times[-1]) if n_frames else None,
        "shortest_interval_ps": found.shortest,
        "usual_interval_ps": found.usual,
        "longest_interval_ps": found.longest,
        "gaps": found.gaps.tolist(),
        "repeated_times": found.repeated.tolist(),
        "backward_times": found.backward.tolist(),
        "first_box": _box(source) if n_frames else None,
        "size_bytes": source.n_bytes,
        "bytes_per_frame": source.n_bytes / n_frames if n_frames else None,
        "torn_end": _torn_end(source),
        "files": [_file(dict(part)) for part in source.describe()],
    }


def _file(facts: Facts) -> Facts:
    """Add the file system and the stripes to the properties of a file."""
    path = Path(str(facts["path"])) if "path" in facts else None
    if path is None or not path.is_file():
        return facts
    facts["file system"] = file_system(path)
    if striped := stripes(path):
        facts["stripes"] = [asdict(one) for one in striped]
    return facts


def _torn_end(source: Source) -> str | None:
    """Return a message about an incomplete frame at the end, if there is one."""
    try:
        source.check_end()
    except FormatError as error:
        return str(error)
    return None


def _box(source: Source) -> list[float] | None:
    """Return the lengths (Å) and angles (degrees) of the cell in the first frame."""
    first = source.read(FrameSet.range(0, 1, 1), np.zeros(0, np.uint32))
    return [float(value) for value in first.dimensions[0]] if first.has_cell[0] else None
