"""Atoms and latest frames of the 3-D view."""

import json
import math
import subprocess
import sys
from array import array
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING

from mdreel.errors import MdreelError, MismatchError
from mdreel.foundation.printable import printable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from mdreel.live.channels.consumer import Consumer

_OUTLINE_SECONDS = 120.0
"""Maximum time to read the topology, in s."""
_IDLE_SECONDS = 15.0
"""Time without requests after which the page leaves a channel, in s."""
_RETRY_SECONDS = 2.0


@dataclass
class _Latest:
    """Latest frame of a channel."""

    lock: Lock = field(default_factory=Lock)
    consumer: "Consumer | None" = None
    asked_at: float = 0.0
    retry_at: float = 0.0
    number: int = 0
    key: tuple[int, int] | None = None
    facts: dict[str, object] = field(default_factory=dict)
    positions: "NDArray[np.float32] | None" = None


class Molecule:
    """Atoms of the 3-D view, and the latest frames of channels. All methods can be called from any thread.

    A channel is joined only while somebody looks at its frames, as a consumer for which the simulation never waits.

    Parameters
    ----------
    topology, index : Path
        Topology and index file.
    selection : str or None
        Atoms to draw; see `molecule_outline.outline`.
    """

    def __init__(self, topology: Path, index: Path | None = None, selection: str | None = None) -> None:
        self._arguments = [str(topology), "" if index is None else str(index), selection or ""]
        self._lock = Lock()
        self._outline: bytes | None = None
        self._indices = array("q")
        self._n_system = 0
        self._latest: dict[Path, _Latest] = {}

    def outline(self) -> bytes:
        """Return the atoms as JSON; see `molecule_outline.outline`. The topology is read at the first call.

        Raises
        ------
        MismatchError
            If the topology or the selection is invalid.
        """
        with self._lock:
            if self._outline is None:
                self._read()
            assert self._outline is not None
            return self._outline

    def frame(self, channel: Path, after: int) -> bytes:
        """Return the latest frame of a channel.

        Parameters
        ----------
        channel : Path
            Directory of the channel.
        after : int
            Number of the last frame that the client has. If there is no newer frame, the response has no positions.

        Returns
        -------
        bytes
            A line of JSON with ``number``, ``step``, ``time`` (in ps) and ``box`` (in Å, nine numbers or None). The
            positions in Å follow, shape (n_atoms, 3), float32, little-endian.

        Raises
        ------
        MdreelError, OSError
            If the topology does not match the channel, or if the channel cannot be read.
        """
        self.outline()
        with self._lock:
            latest = self._latest.setdefault(channel, _Latest())
        with latest.lock:
            latest.asked_at = monotonic()
            self._take(channel, latest)
            is_new = latest.positions is not None and latest.number != after
            head = json.dumps({"number": latest.number, **latest.facts}, allow_nan=False).encode() + b"\n"
            return head + latest.positions.astype("<f4").tobytes() if is_new and latest.positions is not None else head

    def leave_idle(self) -> None:
        """Leave the channels at whose frames nobody has looked for a while."""
        with self._lock:
            each = list(self._latest.values())
        for latest in each:
            if monotonic() - latest.asked_at < _IDLE_SECONDS or not latest.lock.acquire(blocking=False):
                continue
            try:
                _leave(latest)
            finally:
                latest.lock.release()

    def close(self) -> None:
        """Leave all channels."""
        with self._lock:
            for latest in self._latest.values():
                with latest.lock:
                    _leave(latest)

    def _read(self) -> None:
        command = [sys.executable, "-m", "mdreel.live.watch.molecule_outline", *self._arguments]
        try:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=_OUTLINE_SECONDS, check=True
            )
            found = json.loads(done.stdout)
        except (subprocess.SubprocessError, ValueError, OSError) as error:
            raise MismatchError(f"the topology cannot be read: {printable(str(error))}") from None
        if "error" in found:
            raise MismatchError(printable(found["error"]))
        self._indices = array("q", found.pop("indices"))
        self._n_system = found["n_system"]
        self._outline = json.dumps(found, separators=(",", ":")).encode()

    def _take(self, channel: Path, latest: _Latest) -> None:
        """Take the newest frame if there is one."""
        now = monotonic()
        if latest.consumer is None:
            if now < latest.retry_at:
                return
            latest.retry_at = now + _RETRY_SECONDS
            from mdreel.live.channels.consumer import Consumer  # only the 3-D view needs NumPy

            latest.consumer = Consumer(channel, policy="latest", on_late="ignore").open()
        consumer = latest.consumer
        try:
            if consumer.manifest.n_atoms != self._n_system:
                message = f"the topology has {self._n_system:,} atoms, the channel {consumer.manifest.n_atoms:,}"
                raise MismatchError(message, path=channel)
            frame = consumer.next(timeout=0.0)
        except TimeoutError:  # there is no new frame
            return
        except (MdreelError, OSError):
            _leave(latest)
            raise
        if frame is None:
            _leave(latest)  # the run has ended; its last frame remains
            return
        if frame.positions is None:
            raise MismatchError("the channel has no positions", path=channel)
        if latest.key == (frame.epoch, frame.sequence):
            return
        latest.key = frame.epoch, frame.sequence
        latest.positions = frame.positions[self._indices].astype("f4")
        latest.number += 1
        box = None if frame.box is None else [float(one) for one in frame.box.ravel()]
        latest.facts = {"step": frame.step, "time": frame.time if math.isfinite(frame.time) else None, "box": box}


def _leave(latest: _Latest) -> None:
    consumer, latest.consumer = latest.consumer, None
    if consumer is not None:
        consumer.close()
