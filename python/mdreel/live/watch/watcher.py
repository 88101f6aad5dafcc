"""Watcher, which polls channels and notices."""

import math
from collections.abc import Sequence
from pathlib import Path
from time import monotonic

from mdreel.errors import MdreelError
from mdreel.foundation.printable import printable
from mdreel.live.channels.directory import folder_of_channels, place_of
from mdreel.live.channels.sections import most_bytes
from mdreel.live.channels.status import Status, paths_of_channels
from mdreel.live.notices.decimated_rows import Thinned
from mdreel.live.notices.reader import NoticeReader, notices_of
from mdreel.live.watch.rate import Rate
from mdreel.live.watch.snapshot import ANALYSIS_STATES, HISTORY, Seen, SeenAnalysis
from mdreel.live.watch.steering import SteeringLog

_MOST_KEPT = 600
"""So many looks are kept of each channel, over the whole of the time."""


class Watcher:
    """Looks at channels and at what analyses on them say; keeps what is needed for rates and curves.

    Parameters
    ----------
    names : sequence of str
        Channels, by name or directory, which need not be there; without any, all channels of this user.

    Raises
    ------
    MismatchError
        If a name is none.
    """

    def __init__(self, names: Sequence[str] = ()) -> None:
        self._wanted = [place_of(name) for name in dict.fromkeys(names)]
        self._begun = monotonic()
        self._known: dict[Path, _Watched] = {}

    def look(self) -> list[Seen]:
        """Look at all channels.

        Returns
        -------
        list of Seen
            One for each, in the order in which they were named, or by name. One that cannot be looked at says so.

        Raises
        ------
        PermissionError
            If the folder of channels belongs to somebody else, or others may enter.
        """
        paths = self._wanted or paths_of_channels(folder_of_channels())
        self._known = {path: self._known.get(path) or _Watched(path) for path in paths}
        now = monotonic()
        found = [watched.look(now, now - self._begun) for watched in self._known.values()]
        # What is not there is news only of who was named.
        return [seen for seen in found if self._wanted or seen.state != "absent"]


class _Watched:
    """What is kept of a channel from look to look."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._rate = Rate()
        self._history = Thinned(len(HISTORY), _MOST_KEPT)
        self._readers: dict[Path, NoticeReader] = {}
        self._steering = SteeringLog(path)

    def look(self, now: float, elapsed: float) -> Seen:
        try:
            status = Status.of(self._path)
        except FileNotFoundError:
            return self._not_there("absent", None, elapsed)
        except (OSError, MdreelError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            return self._not_there("unreadable", printable(reason), elapsed)
        rate = self._rate.see(status.n_published, now)
        if status.state != "running" and rate is not None:
            rate = 0.0
        lag = math.nan if status.lag is None else status.lag
        self._history.extend([[elapsed, math.nan if rate is None else rate, lag]])
        self._steering.look()
        return Seen(
            path=self._path,
            state=status.state,
            reason=None if status.reason is None else printable(status.reason),
            status=status,
            frame_bytes=most_bytes(status.manifest),
            frames_per_second=rate,
            analyses=self._analyses(),
            events=self._steering.events,
            n_damaged_events=self._steering.n_damaged,
            history=self._history.with_last(),
        )

    def _not_there(self, state: str, reason: str | None, elapsed: float) -> Seen:
        self._rate = Rate()
        self._readers.clear()
        self._history.extend([[elapsed, math.nan, math.nan]])
        return Seen(path=self._path, state=state, reason=reason, history=self._history.with_last())

    def _analyses(self) -> tuple[SeenAnalysis, ...]:
        paths = notices_of(self._path)
        self._readers = {path: self._readers.get(path) or NoticeReader(path) for path in paths}
        found = []
        for path, reader in self._readers.items():
            try:
                notice = reader.read()
            except (OSError, MdreelError) as error:
                found.append(SeenAnalysis(path.stem, None, printable(path.name), "unreadable", printable(str(error))))
            else:
                if notice is not None:
                    found.append(SeenAnalysis(path.stem, notice, notice.name, notice.state, notice.reason))
        return tuple(sorted(found, key=lambda one: ANALYSIS_STATES.index(one.state)))
