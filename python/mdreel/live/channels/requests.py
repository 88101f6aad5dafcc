"""Requests to a running simulation, such as stopping it or writing a checkpoint.

A request and its answer are files in the folder ``requests`` of the channel's directory. Both are written under a
temporary name and then renamed, so that readers never see a partial file. The producer checks for requests between two
frames, and renames each request in order to claim it. Until then, the sender can withdraw the request.
"""

import json
import os
import secrets
import shutil
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, sleep, time_ns
from typing import Any

from mdreel.errors import FormatError, StreamError, StreamTimeoutError, UnansweredRequestWarning
from mdreel.foundation.printable import printable
from mdreel.foundation.untrusted_input import content_of, object_of, shown, text, whole
from mdreel.live.channels.status import Status

FOLDER = "requests"
"""Folder for requests in a channel's directory."""

_REQUEST, _CLAIMED, _ANSWER = ".request", ".taken", ".answer"
_POLL_SECONDS = 0.01
_STATUS_SECONDS = 0.25
_MOST_KIND = 64
_MOST_MESSAGE = 4096
_MOST_AT_ONCE = 256
"""Maximum number of requests that are read between two frames. Further requests wait for the next frame."""


@dataclass(frozen=True)
class Request:
    """Request to a simulation, which should either answer or refuse it.

    Attributes
    ----------
    kind : str
        Kind of request, such as ``stop``, ``checkpoint``, ``change-stride``, or another word that both sides know.
    arguments : dict
        Arguments of the request, whose types and ranges should be checked by the simulation.
    epoch : int
        Epoch of the producer to which the request was sent.

    Examples
    --------
    A simulation that supports only checkpoints handles its requests between two frames:

    >>> import mdreel
    >>> with mdreel.live.Producer("run1", n_atoms=3) as producer:
    ...     for request in producer.requests():
    ...         if request.kind == "checkpoint":
    ...             request.answer("checkpoint written", checkpoint="run1.checkpoint")
    ...         else:
    ...             request.refuse(f"unknown request {request.kind!r}")
    """

    kind: str
    arguments: Mapping[str, Any]
    _claimed: Path = field(repr=False)
    epoch: int = field(default=0, repr=False)

    def answer(self, message: str, **facts: Any) -> None:
        """Report that the simulation has carried out the request.

        Parameters
        ----------
        message : str
            Human-readable result.
        **facts
            Machine-readable results, such as ``checkpoint``, which is a path.
        """
        self._write_answer({"done": True, "message": message[:_MOST_MESSAGE], "facts": facts})

    def refuse(self, message: str) -> None:
        """Refuse the request.

        Parameters
        ----------
        message : str
            Reason for the refusal.
        """
        self._write_answer({"done": False, "message": message[:_MOST_MESSAGE], "facts": {}})

    def _write_answer(self, answer: dict[str, Any]) -> None:
        """Write the answer. If this fails, the simulation continues, and the sender waits until its timeout."""
        try:
            _write_atomically(self._claimed.with_suffix(_ANSWER), answer)
            _remove(self._claimed)
        except OSError as error:
            message = f"{self._claimed}: the request was not answered: {error}"
            warnings.warn(UnansweredRequestWarning(message), stacklevel=3)


@dataclass(frozen=True)
class Answer:
    """Answer of a simulation to a request.

    Attributes
    ----------
    message : str
        Human-readable result.
    facts : dict
        Machine-readable results.

    Examples
    --------
    >>> import mdreel
    >>> answer = mdreel.live.Answer("checkpoint of step 500: md.checkpoint", {"checkpoint": "md.checkpoint"})
    >>> answer.facts["checkpoint"]
    'md.checkpoint'
    """

    message: str
    facts: Mapping[str, Any]


class Requests:
    """Requests to a producer.

    Parameters
    ----------
    channel : Path
        Directory of the channel.
    epoch : int
        Epoch of the producer. Requests for other epochs are refused.

    Attributes
    ----------
    n_refused : int
        Number of refused requests, which are either invalid or intended for another producer.
    """

    def __init__(self, channel: Path, epoch: int) -> None:
        self._folder = channel / FOLDER
        self._epoch = epoch
        self._has_swept = False
        self.n_refused = 0

    def take(self) -> list[Request]:
        """Claim and return new requests, oldest first. Invalid requests are refused without raising an exception."""
        if not os.access(self._folder, os.F_OK):  # cheaper than an exception, in each frame of nearly all simulations
            return []
        try:
            names = [path.name for path in self._folder.iterdir()]
        except OSError:
            return []
        if not self._has_swept:
            self._has_swept = True
            for name in names:  # left by earlier producers
                if name.endswith((_CLAIMED, _ANSWER)):
                    with suppress(OSError):
                        _remove(self._folder / name)
        found = []
        for name in sorted(name for name in names if name.endswith(_REQUEST))[:_MOST_AT_ONCE]:
            path = self._folder / name
            claimed = path.with_suffix(_CLAIMED)
            try:
                path.rename(claimed)
            except OSError:
                continue  # the sender has withdrawn it, or it cannot be renamed
            try:
                request = _read_request(claimed)
            except OSError as error:  # a FormatError is one
                self._refuse(Request("", {}, claimed), str(error))
                continue
            if request.epoch == self._epoch:
                found.append(request)
            else:
                self._refuse(request, "the request was addressed to an earlier simulation, which has ended")
        return found

    def _refuse(self, request: Request, why: str) -> None:
        self.n_refused += 1
        request.refuse(why)


def _read_request(path: Path) -> Request:
    """Read a request. Raise FormatError if the file does not contain a request, or OSError on failure."""
    try:
        asked = object_of(content_of(path))
        arguments = asked.get("arguments", {})
        if not isinstance(arguments, dict):
            raise FormatError(f"expected an object of arguments, got {shown(arguments)}")
        return Request(text(asked, "kind", _MOST_KIND), arguments, path, whole(asked, "epoch"))
    except FormatError as error:
        raise FormatError(f"invalid request: {error}", path=path) from None


def send_request(
    channel: Path,
    kind: str,
    arguments: Mapping[str, Any] | None = None,
    *,
    timeout: float | None = None,
    is_cancelled: Callable[[], bool] = lambda: False,
) -> Answer:
    """Send a request to the simulation behind a channel, and wait for its answer.

    Parameters
    ----------
    channel : Path
        Directory of the channel.
    kind : str
        Kind of request.
    arguments : mapping, optional
        Arguments of the request.
    timeout : float, optional
        Maximum time to wait, in s. By default, there is no limit as long as the simulation is running.
    is_cancelled : callable
        Function that will be called repeatedly while waiting. It can return True to cancel the request.

    Returns
    -------
    Answer
        Answer from the simulation.

    Raises
    ------
    StreamTimeoutError
        When the simulation did not answer in time. A request that has not been claimed yet is withdrawn.
    StreamError
        When the simulation refuses the request, or has ended.
    FormatError
        When the answer is invalid.
    OSError
        When the request could not be written.

    Notes
    -----
    Note that a simulation can only receive requests if its code calls `Producer.requests` between two frames.
    """
    epoch = Status.read(channel).epoch
    folder = channel / FOLDER
    folder.mkdir(mode=0o700, exist_ok=True)
    request = folder / f"{time_ns():020d}-{secrets.token_hex(4)}{_REQUEST}"
    _write_atomically(request, {"kind": kind, "arguments": dict(arguments or {}), "epoch": epoch})
    until = None if timeout is None else monotonic() + timeout
    looked_at = -_STATUS_SECONDS
    while True:
        now = monotonic()
        is_over, why = False, ""
        if now - looked_at >= _STATUS_SECONDS:
            looked_at = now
            is_over, why = _find_end(channel, epoch)
        # Read the answer after the status, because an answer from before the end of the simulation is valid.
        answer = _take_answer(request)
        if answer is not None:
            return answer
        if is_over or is_cancelled():
            _withdraw(request)
            message = why or "the request was cancelled"
            raise StreamError(f"{channel}: {kind}: {message}")
        if until is not None and now >= until:
            has_begun = not _withdraw(request)
            state = "it has claimed the request" if has_begun else "it has not claimed the request, which is withdrawn"
            message = f"{kind}: the simulation has not answered within {timeout:g} s: {state}"
            raise StreamTimeoutError(f"{channel}: {message}")
        sleep(_POLL_SECONDS)


def _take_answer(request: Path) -> Answer | None:
    path = request.with_suffix(_ANSWER)
    try:
        said = read_answer(path)
    except FileNotFoundError:
        return None
    except BaseException:
        _remove(path)
        raise
    _remove(path)
    return said


def read_answer(path: Path) -> Answer:
    """Read an answer.

    Raises
    ------
    StreamError
        If the simulation refused the request.
    FormatError
        If the file does not contain an answer.
    """
    try:
        said = object_of(content_of(path))
        message, facts = printable(text(said, "message", _MOST_MESSAGE, least=0)), said.get("facts", {})
        if not isinstance(facts, dict) or not isinstance(said.get("done"), bool):
            raise FormatError(f"expected the keys done and facts, got {shown(said)}")
    except FormatError as error:
        raise FormatError(f"invalid answer: {error}", path=path) from None
    if not said["done"]:
        raise StreamError(f"the simulation refused the request: {message}")
    return Answer(message, facts)


def _remove(path: Path) -> None:
    """Remove a file or a folder, if it exists."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _find_end(channel: Path, epoch: int) -> tuple[bool, str]:
    try:
        status = Status.read(channel)
    except FileNotFoundError:
        return True, "the channel was removed"
    if status.epoch != epoch:
        return True, "the simulation was restarted before it answered"
    if status.state != "running":
        return True, f"the simulation ended ({status.state}) before it answered"
    return False, ""


def _withdraw(request: Path) -> bool:
    """Withdraw a request. Return False if the simulation has already claimed it."""
    try:
        request.unlink()
    except FileNotFoundError:
        return False
    return True


def _write_atomically(path: Path, content: dict[str, Any]) -> None:
    """Write a JSON file under a temporary name and rename it, so that readers never see a partial file."""
    part = path.with_name(f"{path.name}.part")  # readers ignore this suffix
    try:
        part.write_text(json.dumps(content), encoding="utf-8")
        part.rename(path)
    except OSError:
        with suppress(OSError):
            part.unlink()
        raise
