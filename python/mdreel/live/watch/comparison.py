"""One result of several channels, such as the RMSD of all replicas of an ensemble."""

from collections.abc import Sequence
from typing import Any

from mdreel.live.watch.snapshot import ChannelSnapshot
from mdreel.live.watch.snapshot_json import number

_MOST_POINTS = 300
"""Maximum number of points of each channel."""
_MOST_CHANNELS = 64


def compare(seen: Sequence[ChannelSnapshot], analysis: str, column: str) -> dict[str, Any]:
    """Return a column of the analyses of a name as JSON, for all channels that have it.

    Parameters
    ----------
    seen : sequence of ChannelSnapshot
        The channels.
    analysis, column : str
        Name of the analysis and of the column. Only rows that belong to frames can be compared.

    Returns
    -------
    dict
        ``unit`` (str), and ``series`` (list of dict) with the entries ``channel`` (str), ``times`` (in ps) and
        ``values`` (lists of float or None). A series has at most 300 points, and its last point is the newest.
    """
    unit, series = "", []
    for channel in seen[:_MOST_CHANNELS]:
        for one in channel.analyses:
            notice = one.notice
            if one.name != analysis or notice is None or not notice.is_of_frames:
                continue
            names = [name for name, _ in notice.columns]
            rows = notice.curve
            if column not in names[notice.first_value :] or not rows:
                continue
            k = names.index(column)
            unit = notice.columns[k][1]
            columns, picked = (rows.column(1), rows.column(k)), _evenly_spaced(len(rows))
            times, values = ([number(one[at]) for at in picked] for one in columns)
            series.append({"channel": channel.name, "times": times, "values": values})
            break
    return {"unit": unit, "series": series}


def _evenly_spaced(n_rows: int) -> list[int]:
    """Return the numbers of at most `_MOST_POINTS` rows, including the first and the last row."""
    n_picked = min(n_rows, _MOST_POINTS)
    return [round(i * (n_rows - 1) / max(1, n_picked - 1)) for i in range(n_picked)]
