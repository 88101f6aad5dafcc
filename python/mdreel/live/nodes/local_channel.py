"""Channel on the node of a relay, which is a copy of the remote channel."""

import json
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mdreel._core import ChannelRelay, channel_frame_identity, channel_status
from mdreel.errors import FormatError, MismatchError
from mdreel.foundation.untrusted_input import content_of, object_of, text
from mdreel.live.channels.directory import make_folder_for
from mdreel.live.channels.epochs import NEW_RUN
from mdreel.live.channels.staging import Staging
from mdreel.live.nodes.messages import ChannelDescription, Epoch
from mdreel.live.producers.groups import Group
from mdreel.live.producers.producer import RING_BYTES

_SLOTS = (4, 64)
_SOURCE = "source"
"""File in the channel's directory that contains the identity of the remote channel and the ID of the relay."""


class LocalChannel:
    """Local channel that contains the frames of a remote channel, with their sequence numbers, steps and times.

    Parameters
    ----------
    path : Path
        Directory of the channel.
    n_slots : int, optional
        Number of slots of the ring.
    staging : Staging, optional
        Staging on this node.
    most_bytes : int
        Maximum size of the ring, in bytes. The sizes that the other node announces must not exceed it.
    groups : sequence of Group
        Consumer groups that exist before the first frame.

    Attributes
    ----------
    relay : str
        ID of the relay, which does not change during the lifetime of the channel.
    n_missed : int
        Number of frames that were missed between published frames.
    """

    def __init__(
        self,
        path: Path,
        n_slots: int | None,
        staging: Staging | None,
        most_bytes: int,
        groups: Sequence[Group] = (),
    ) -> None:
        self.path = path
        self._n_slots = n_slots
        self._staging = staging
        self._most_bytes = most_bytes
        self._groups = groups
        known = self._read_source()
        self._identity: str | None = known.get("identity")
        self.relay: str = known.get("relay") or secrets.token_hex(16)
        self.answer: ChannelDescription | None = None
        self._core: ChannelRelay | None = None
        self._begins_anew = False
        self._last: tuple[int, int, int] | None = None
        self._next = 0
        self._current: tuple[ChannelRelay, int, int, int] | None = None
        self.n_missed = 0
        # Last frame received in the session, and number of frames missing since the last published frame.
        self._received: tuple[int, int] | None = None
        self._n_missing = 0

    @property
    def is_open(self) -> bool:
        """Whether consumers see a running producer."""
        return self._core is not None

    @property
    def n_consumers(self) -> int:
        """Number of local consumers."""
        return self._require_open().n_consumers

    @property
    def n_slots(self) -> int:
        """Number of slots of the ring."""
        assert self.answer is not None
        least, most = _SLOTS
        chosen = max(least, min(most, RING_BYTES // self.answer.slot_bytes))
        return chosen if self._n_slots is None else self._n_slots

    @property
    def next_sequence(self) -> int | None:
        """Sequence number of the next frame, or None if no frame has been received."""
        return self._next or None

    def accept(self, answer: ChannelDescription) -> None:
        """Check and store the description of the remote channel.

        Raises
        ------
        MismatchError
            If the description belongs to a different channel than before, or if the ring would be too large.
        """
        if self._identity is not None and answer.identity != self._identity:
            message = "the remote channel was created again, and this channel has frames of the earlier one"
            raise MismatchError(f"{message}; remove it (mdreel channels {self.path.name} --remove)", path=self.path)
        if answer.slot_bytes < 1 or answer.manifest.n_atoms < 1:
            found = f"{answer.manifest.n_atoms:,} atoms and {answer.slot_bytes:,} bytes"
            raise MismatchError(f"expected frames of 1 atom and 1 byte or more, got {found}", path=self.path)
        self.answer = answer
        n_bytes = self.n_slots * answer.slot_bytes
        if n_bytes > self._most_bytes:
            message = f"{self.n_slots} frames of {answer.slot_bytes:,} bytes take more than {self._most_bytes:,} bytes"
            raise MismatchError(f"{message}; allow more memory or fewer slots", path=self.path)

    def open(self) -> None:
        """Open the channel so that consumers can join, if it is not open yet; see `Producer.open` for the errors."""
        answer = self.answer
        assert answer is not None
        if self._core is not None:
            return
        make_folder_for(self.path)
        try:
            self._begins_anew = channel_status(self.path)["end"] is not None
        except FileNotFoundError:
            self._begins_anew = False
        self._core = ChannelRelay(self.path, answer.manifest, self.n_slots, answer.slot_bytes, self._staging)
        for group in self._groups:
            group.declare(self.path)
        self._last = self._last or self._core.last
        self._next = self._core.next_sequence
        if self._identity is None:
            self._identity = answer.identity
            said = {"identity": answer.identity, "relay": self.relay}
            new = self.path / f"{_SOURCE}.new"
            new.touch(0o600)
            new.write_text(json.dumps(said))
            new.replace(self.path / _SOURCE)

    def restart_session(self) -> None:
        """Forget which frames were received and not published, as the server sends them again."""
        self._received, self._n_missing = None, 0

    def begin(self, first: NDArray[np.uint8], n_bytes: int, said: Epoch, timeout: float) -> None:
        """Check the first piece of a frame of `n_bytes` bytes, and begin the frame. The piece is not added yet.

        Raises
        ------
        FormatError
            If the frame is invalid, does not match the manifest, or has an unexpected epoch.
        StreamTimeoutError
            If no slot is free. You can then call the method again.
        """
        core, epoch = self._require_open(), said.epoch
        found, sequence, step = channel_frame_identity(first, n_bytes)
        if found != epoch or found < core.epoch:
            expected = f"expected epoch {epoch}, not before {core.epoch}"
            raise FormatError(f"frame {sequence}: {expected}, got {found}", path=self.path)
        if epoch > core.epoch:
            self._advance(core, epoch, said.resume_step)
        self._count_missing(said, sequence)
        is_seen = self._last is not None and epoch > self._last[0] and step < core.first_step
        self._current = None
        if sequence >= core.next_sequence and not is_seen:
            if self._last is None or epoch > self._last[0]:
                # Numbers of frames that were not requested, that this channel has from the epoch before, or that this
                # epoch publishes again.
                core.pass_over(max(0, sequence - core.next_sequence - self._n_missing))
            core.begin(first, n_bytes, timeout)
            self._current = core, epoch, sequence, step

    def add(self, piece: NDArray[np.uint8]) -> None:
        """Add a piece to the current frame, and publish the frame when it is complete. Ignore known frames.

        Raises
        ------
        FormatError
            If the frame is damaged, or if `leave` was called before it was complete.
        """
        if self._current is None:
            return
        core, epoch, sequence, step = self._current
        if core is not self._core:
            raise FormatError(f"frame {sequence}: the channel was left before the frame was complete", path=self.path)
        if core.relay(piece) is None:
            return
        if self._last is not None:
            # The numbers of an epoch have no gaps but those of missing frames.
            self.n_missed += sequence - self._last[1] - 1 if epoch == self._last[0] else self._n_missing
        self._n_missing = 0
        self._last = (epoch, sequence, step)
        self._next = sequence + 1

    def _count_missing(self, said: Epoch, sequence: int) -> None:
        """Count the frames that are missing before a frame, once if the frame is begun several times."""
        before, self._received = self._received, (said.epoch, sequence)
        if before is None or before[0] != said.epoch:
            self._n_missing += said.n_missed
        elif sequence > before[1]:
            self._n_missing += sequence - before[1] - 1

    def _advance(self, core: ChannelRelay, epoch: int, resume_step: int) -> None:
        """Advance to an epoch. In a continued run, skip the steps that this relay has already published."""
        if self._last is None or self._begins_anew or resume_step == NEW_RUN:
            core.advance(epoch, resume_step)
        else:
            core.advance(epoch, max(resume_step, self._last[2] + 1))
        self._begins_anew = False

    def end(self, how: str, reason: str) -> None:
        """End the channel."""
        self._require_open().end(how, reason)
        self._core = None

    def leave(self, reason: str | None = None) -> None:
        """Leave the channel. Its consumers are told that the producer was lost, and the reason.

        Without a reason, they are told that the process of the relay has ended.
        """
        core, self._core = self._core, None
        if core is not None:
            core.leave(reason)

    def _require_open(self) -> ChannelRelay:
        if self._core is None:
            raise MismatchError("the relay has not opened the channel", path=self.path)
        return self._core

    def _read_source(self) -> dict[str, Any]:
        path = self.path / _SOURCE
        try:
            known = object_of(content_of(path))
            return {name: text(known, name) for name in ("identity", "relay")}
        except FileNotFoundError:
            return {}
        except FormatError as error:
            raise FormatError(
                f"{path}: {error}; remove the channel (mdreel channels {self.path.name} --remove)"
            ) from None
