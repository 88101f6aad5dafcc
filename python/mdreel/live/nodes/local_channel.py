"""Local channel of a relay."""

import json
import secrets
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mdreel._core import ChannelRelay, channel_frame_identity, channel_status
from mdreel.errors import FormatError, MismatchError
from mdreel.foundation.untrusted_input import content_of, object_of, text
from mdreel.live.channels.directory import make_folder_for
from mdreel.live.channels.staging import Staging
from mdreel.live.nodes.messages import Answer
from mdreel.live.producers.producer import RING_BYTES

_SLOTS = (4, 64)
_NEW_RUN = -(2**63)
_SOURCE = "source"
"""In the channel's directory: which channel its frames come from, and by which name the relay is known there."""


class LocalChannel:
    """Publishes the frames of another channel here, with their numbers, steps and times.

    Parameters
    ----------
    path : Path
        The channel's directory.
    n_slots : int, optional
        How many frames its ring holds.
    staging : Staging, optional
        Where frames are kept on this node.
    most_bytes : int
        The most memory that its ring may take, bytes: what frames have is said by another node.

    Attributes
    ----------
    relay : str
        The name of the relay of this channel, which stays as long as the channel does.
    n_missed : int
        Frames between those that have come that did not.
    """

    def __init__(self, path: Path, n_slots: int | None, staging: Staging | None, most_bytes: int) -> None:
        self.path = path
        self._n_slots = n_slots
        self._staging = staging
        self._most_bytes = most_bytes
        known = self._known()
        self._identity: str | None = known.get("identity")
        self.relay: str = known.get("relay") or secrets.token_hex(16)
        self.answer: Answer | None = None
        self._core: ChannelRelay | None = None
        self._begins_anew = False
        self._last: tuple[int, int, int] | None = None
        self._next = 0
        self._coming: tuple[ChannelRelay, int, int, int] | None = None
        self.n_missed = 0

    @property
    def is_open(self) -> bool:
        """Whether its consumers see a producer."""
        return self._core is not None

    @property
    def n_slots(self) -> int:
        """How many frames its ring holds."""
        assert self.answer is not None
        least, most = _SLOTS
        chosen = max(least, min(most, RING_BYTES // self.answer.slot_bytes))
        return chosen if self._n_slots is None else self._n_slots

    @property
    def wanted(self) -> int | None:
        """The number of the frame that it wants next; None if it has had none."""
        return self._next or None

    def accept(self, answer: Answer) -> None:
        """Take note of what the other node says of its channel.

        Raises
        ------
        MismatchError
            If it is another channel than before, or takes more memory than it may.
        """
        if self._identity is not None and answer.identity != self._identity:
            message = "the channel on the other node was made anew, and frames of the one before are here"
            raise MismatchError(f"{self.path}: {message}: remove this one (mdreel channels {self.path.name} --remove)")
        if answer.slot_bytes < 1 or answer.manifest.n_atoms < 1:
            found = f"{answer.manifest.n_atoms:,} atoms and {answer.slot_bytes:,} bytes"
            raise MismatchError(f"{self.path}: expected frames of 1 atom and 1 byte or more, got {found}")
        self.answer = answer
        n_bytes = self.n_slots * answer.slot_bytes
        if n_bytes > self._most_bytes:
            message = f"{self.n_slots} frames of {answer.slot_bytes:,} bytes take more than {self._most_bytes:,} bytes"
            raise MismatchError(f"{self.path}: {message}: allow more memory, or fewer slots")

    def open(self) -> None:
        """Open the channel, if that has not been done: consumers can join from now on.

        Raises
        ------
        StreamError
            If it has a relay or a producer that lives.
        MismatchError
            If it is there, and of other frames or of another size.
        OSError
            If it cannot be made.
        """
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
        self._last = self._last or self._core.last
        self._next = self._core.next_sequence
        if self._identity is None:
            self._identity = answer.identity
            said = {"identity": answer.identity, "relay": self.relay}
            new = self.path / f"{_SOURCE}.new"
            new.touch(0o600)
            new.write_text(json.dumps(said))
            new.replace(self.path / _SOURCE)

    def begin(self, first: NDArray[np.uint8], n_bytes: int, epoch: int, resume_step: int, timeout: float) -> None:
        """Begin a frame of so many bytes and its epoch, of which the first piece is here; it is not taken yet.

        Raises
        ------
        FormatError
            If it is none, not what the manifest says, or of another epoch, or of one that is over.
        StreamTimeoutError
            If there is no room. It may be begun again.
        """
        core = self._opened()
        found, sequence, step = channel_frame_identity(first, n_bytes)
        if found != epoch or found < core.epoch:
            expected = f"expected it in epoch {epoch}, behind {core.epoch}"
            raise FormatError(f"{self.path}: frame {sequence}: {expected}, got {found}")
        if epoch > core.epoch:
            self._advance(core, epoch, resume_step)
        is_seen = self._last is not None and epoch > self._last[0] and step < core.first_step
        self._coming = None
        if sequence >= core.next_sequence and not is_seen:
            core.begin(first, n_bytes, timeout)
            self._coming = core, epoch, sequence, step

    def add(self, piece: NDArray[np.uint8]) -> None:
        """Take the next piece of the frame that was begun, and publish that when it is whole; pass over one of before.

        Raises
        ------
        FormatError
            If it is damaged, or the channel was left since the frame was begun.
        """
        if self._coming is None:
            return
        core, epoch, sequence, step = self._coming
        if core is not self._core:
            raise FormatError(f"{self.path}: frame {sequence}: the channel was left before it was whole")
        if core.relay(piece) is None:
            return
        if self._last is not None and epoch == self._last[0]:
            self.n_missed += max(0, sequence - self._last[1] - 1)
        self._last = (epoch, sequence, step)
        self._next = sequence + 1

    def _advance(self, core: ChannelRelay, epoch: int, resume_step: int) -> None:
        """Go on to an epoch. Of a run that goes on, consumers here have seen what this relay has; others begin anew."""
        if self._last is None or self._begins_anew or resume_step == _NEW_RUN:
            core.advance(epoch, resume_step)
        else:
            core.advance(epoch, max(resume_step, self._last[2] + 1))
        self._begins_anew = False

    def end(self, how: str, reason: str) -> None:
        """Say that no more frames will come."""
        self._opened().end(how, reason)
        self._core = None

    def leave(self) -> None:
        """Leave it: its consumers are told that the producer was lost."""
        core, self._core = self._core, None
        if core is not None:
            core.leave()

    def _opened(self) -> ChannelRelay:
        if self._core is None:
            raise MismatchError(f"{self.path}: the relay has not opened the channel")
        return self._core

    def _known(self) -> dict[str, Any]:
        path = self.path / _SOURCE
        try:
            known = object_of(content_of(path))
            return {name: text(known, name) for name in ("identity", "relay")}
        except FileNotFoundError:
            return {}
        except FormatError as error:
            raise FormatError(
                f"{path}: {error}: remove the channel (mdreel channels {self.path.name} --remove)"
            ) from None
