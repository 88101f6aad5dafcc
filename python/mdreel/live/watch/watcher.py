"""Watcher that takes snapshots of channels without joining them."""

import math
from collections.abc import Sequence
from pathlib import Path
from time import monotonic

from mdreel.errors import MdreelError
from mdreel.foundation.printable import printable
from mdreel.live.channels.directory import channel_path, channels_folder
from mdreel.live.channels.frame_size import max_frame_bytes
from mdreel.live.channels.status import Status, list_channel_paths
from mdreel.live.notices.reader import NoticeReader, list_notices
from mdreel.live.watch.history import History
from mdreel.live.watch.rate import Rate
from mdreel.live.watch.snapshot import ANALYSIS_STATES, HISTORY, AnalysisSnapshot, ChannelSnapshot
from mdreel.live.watch.steering import SteeringLog

_MOST_KEPT = 600
"""Maximum length of the history of each channel."""


class Watcher:
    """Takes snapshots of channels and of their analyses' notices, and keeps a history from which rates are computed.

    Parameters
    ----------
    names : sequence of str
        Names or directories of channels. The channels do not have to exist yet. By default, all channels of this user.

    Raises
    ------
    MismatchError
        If a name is invalid.
    """

    def __init__(self, names: Sequence[str] = ()) -> None:
        self._paths = [channel_path(name) for name in dict.fromkeys(names)]
        self._started = monotonic()
        self._channels: dict[Path, _WatchedChannel] = {}

    def take_snapshots(self) -> list[ChannelSnapshot]:
        """Return a snapshot of each channel, in the given order or sorted by name."""
        paths = self._paths or list_channel_paths(channels_folder())
        self._channels = {path: self._channels.get(path) or _WatchedChannel(path) for path in paths}
        now = monotonic()
        found = [watched.take_snapshot(now, now - self._started) for watched in self._channels.values()]
        # Report absent channels only if they were named.
        return [seen for seen in found if self._paths or seen.state != "absent"]


class _WatchedChannel:
    """State of a channel that is kept from one snapshot to the next."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._rate = Rate()
        self._history = History(len(HISTORY), _MOST_KEPT)
        self._readers: dict[Path, NoticeReader] = {}
        self._steering = SteeringLog(path)

    def take_snapshot(self, now: float, elapsed: float) -> ChannelSnapshot:
        try:
            status = Status.read(self._path)
        except FileNotFoundError:
            return self._unavailable("absent", None, elapsed)
        except (OSError, MdreelError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            return self._unavailable("unreadable", printable(reason), elapsed)
        rate = self._rate.add(status.n_published, now)
        if status.state != "running" and rate is not None:
            rate = 0.0
        lag = math.nan if status.lag is None else status.lag
        self._history.add((elapsed, math.nan if rate is None else rate, lag))
        self._steering.refresh()
        return ChannelSnapshot(
            path=self._path,
            state=status.state,
            reason=status.waiting if status.reason is None else printable(status.reason),
            status=status,
            frame_bytes=max_frame_bytes(status.manifest),
            frames_per_second=rate,
            analyses=self._analyses(),
            events=self._steering.events,
            n_damaged_events=self._steering.n_damaged,
            history=self._history.with_last(),
        )

    def _unavailable(self, state: str, reason: str | None, elapsed: float) -> ChannelSnapshot:
        self._rate = Rate()
        self._readers.clear()
        self._history.add((elapsed, math.nan, math.nan))
        return ChannelSnapshot(path=self._path, state=state, reason=reason, history=self._history.with_last())

    def _analyses(self) -> tuple[AnalysisSnapshot, ...]:
        paths = list_notices(self._path)
        self._readers = {path: self._readers.get(path) or NoticeReader(path) for path in paths}
        found = []
        for path, reader in self._readers.items():
            try:
                notice = reader.read()
            except (OSError, MdreelError) as error:
                found.append(
                    AnalysisSnapshot(path.stem, None, printable(path.name), "unreadable", printable(str(error)))
                )
            else:
                if notice is not None:
                    found.append(AnalysisSnapshot(path.stem, notice, notice.name, notice.state, notice.reason))
        return tuple(sorted(found, key=lambda one: ANALYSIS_STATES.index(one.state)))
