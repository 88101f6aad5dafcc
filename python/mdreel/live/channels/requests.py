"""Requests to a running simulation: stop, checkpoint, change stride.

A request is a file in the folder ``requests`` of the channel's directory, and so is its answer. Both appear by a
rename, whole. A producer takes a request by a rename, too, so that who has asked can withdraw it until then.
"""

import json
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
"""Where in the directory of a channel requests are."""

_REQUEST, _TAKEN, _ANSWER = ".request", ".taken", ".answer"
_LOOK_SECONDS = 0.01
_STATUS_SECONDS = 0.25
_MOST_KIND = 64
_MOST_MESSAGE = 4096
_MOST_AT_ONCE = 256
"""So many requests are looked at between two frames; others wait for the next frame."""


@dataclass(frozen=True)
class Request:
    """What a simulation is asked to do; it must be answered or refused.

    Attributes
    ----------
    kind : str
        What: ``stop``, ``checkpoint``, ``change-stride``, or whatever the two sides have agreed on.
    arguments : dict
        Numbers and texts that belong to it. Their types and ranges are for the simulation to check.
    epoch : int
        The epoch of the producer that is asked.
    """

    kind: str
    arguments: Mapping[str, Any]
    _taken: Path = field(repr=False)
    epoch: int = field(default=0, repr=False)

    def answer(self, message: str, **facts: Any) -> None:
        """Say that it was done.

        Parameters
        ----------
        message : str
            What was done, for people.
        **facts
            Numbers and texts for programs, such as ``checkpoint``, a path.
        """
        self._say({"done": True, "message": message[:_MOST_MESSAGE], "facts": facts})

    def refuse(self, message: str) -> None:
        """Say why it was not done."""
        self._say({"done": False, "message": message[:_MOST_MESSAGE], "facts": {}})

    def _say(self, answer: dict[str, Any]) -> None:
        """Write the answer. A simulation does not end because it cannot: who has asked waits for a timeout then."""
        try:
            _appear(self._taken.with_suffix(_ANSWER), answer)
            _remove(self._taken)
        except OSError as error:
            message = f"{self._taken}: the request was not answered: {error}"
            warnings.warn(UnansweredRequestWarning(message), stacklevel=3)


@dataclass(frozen=True)
class Answer:
    """What a simulation has done.

    Attributes
    ----------
    message : str
        What it says, for people.
    facts : dict
        Numbers and texts.
    """

    message: str
    facts: Mapping[str, Any]


class Requests:
    """The requests to a producer.

    Parameters
    ----------
    channel : Path
        The channel's directory.
    epoch : int
        That of the producer: what others were asked is refused.

    Attributes
    ----------
    n_refused : int
        Files that were no requests, or were requests to another producer.
    """

    def __init__(self, channel: Path, epoch: int) -> None:
        self._folder = channel / FOLDER
        self._epoch = epoch
        self._has_swept = False
        self.n_refused = 0

    def take(self) -> list[Request]:
        """Return what was asked since, the oldest first. What is no request is refused; nothing of it raises."""
        try:
            names = [path.name for path in self._folder.iterdir()]
        except OSError:
            return []
        if not self._has_swept:
            self._has_swept = True
            for name in names:  # of producers before
                if name.endswith((_TAKEN, _ANSWER)):
                    with suppress(OSError):
                        _remove(self._folder / name)
        found = []
        for name in sorted(name for name in names if name.endswith(_REQUEST))[:_MOST_AT_ONCE]:
            path = self._folder / name
            taken = path.with_suffix(_TAKEN)
            try:
                path.rename(taken)
            except OSError:
                continue  # it was withdrawn, or cannot be taken
            try:
                request = _request_of(taken)
            except OSError as error:  # a FormatError is one
                self._refuse(Request("", {}, taken), str(error))
                continue
            if request.epoch == self._epoch:
                found.append(request)
            else:
                self._refuse(request, "it was made to the simulation before, which has ended")
        return found

    def _refuse(self, request: Request, why: str) -> None:
        self.n_refused += 1
        request.refuse(why)


def _request_of(path: Path) -> Request:
    """Read a request.

    Raises
    ------
    FormatError
        If the file holds anything else.
    OSError
        If it cannot be read.
    """
    try:
        asked = object_of(content_of(path))
        arguments = asked.get("arguments", {})
        if not isinstance(arguments, dict):
            raise FormatError(f"expected an object of arguments, got {shown(arguments)}")
        return Request(text(asked, "kind", _MOST_KIND), arguments, path, whole(asked, "epoch"))
    except FormatError as error:
        raise FormatError(f"{path}: no request: {error}") from None


def ask(
    channel: Path,
    kind: str,
    arguments: Mapping[str, Any] | None = None,
    *,
    timeout: float | None = None,
    is_given_up: Callable[[], bool] = lambda: False,
) -> Answer:
    """Ask the simulation behind a channel to do something, and wait until it has.

    Parameters
    ----------
    channel : Path
        The channel's directory.
    kind : str
        What it is to do.
    arguments : mapping, optional
        Numbers and texts that belong to it.
    timeout : float, optional
        For how long to wait, s; by default as long as it runs.
    is_given_up : callable
        Is asked now and then whether nobody wants the answer any more.

    Returns
    -------
    Answer
        What it says.

    Raises
    ------
    StreamTimeoutError
        If it did not answer in time. What it had not begun with is withdrawn.
    StreamError
        If it refuses, or has ended.
    FormatError
        If what it answers is no answer.
    OSError
        If the request could not be written.

    Notes
    -----
    The simulation looks at requests when it publishes; one that has none of `Producer.requests` never does.
    """
    epoch = Status.of(channel).epoch
    folder = channel / FOLDER
    folder.mkdir(mode=0o700, exist_ok=True)
    request = folder / f"{time_ns():020d}-{secrets.token_hex(4)}{_REQUEST}"
    _appear(request, {"kind": kind, "arguments": dict(arguments or {}), "epoch": epoch})
    until = None if timeout is None else monotonic() + timeout
    looked_at = -_STATUS_SECONDS
    while True:
        now = monotonic()
        is_over, why = False, ""
        if now - looked_at >= _STATUS_SECONDS:
            looked_at = now
            is_over, why = _is_over(channel, epoch)
        # After the look at the channel: what was answered before its end counts.
        answer = _answer(request)
        if answer is not None:
            return answer
        if is_over or is_given_up():
            _withdraw(request)
            message = why or "nobody waits for the answer any more"
            raise StreamError(f"{channel}: {kind}: {message}")
        if until is not None and now >= until:
            has_begun = not _withdraw(request)
            state = "it has begun with it" if has_begun else "it has not looked at it, and is not asked any more"
            message = f"{kind}: the simulation has not answered within {timeout:g} s: {state}"
            raise StreamTimeoutError(f"{channel}: {message}")
        sleep(_LOOK_SECONDS)


def _answer(request: Path) -> Answer | None:
    path = request.with_suffix(_ANSWER)
    try:
        said = answer_of(path)
    except FileNotFoundError:
        return None
    except BaseException:
        _remove(path)
        raise
    _remove(path)
    return said


def answer_of(path: Path) -> Answer:
    """Read an answer.

    Raises
    ------
    StreamError
        If the simulation refuses.
    FormatError
        If the file holds anything else than an answer.
    OSError
        If it cannot be read.
    """
    try:
        said = object_of(content_of(path))
        message, facts = printable(text(said, "message", _MOST_MESSAGE, least=0)), said.get("facts", {})
        if not isinstance(facts, dict) or not isinstance(said.get("done"), bool):
            raise FormatError(f"expected what was done, and facts, got {shown(said)}")
    except FormatError as error:
        raise FormatError(f"{path}: no answer: {error}") from None
    if not said["done"]:
        raise StreamError(f"the simulation refuses: {message}")
    return Answer(message, facts)


def _remove(path: Path) -> None:
    """Remove what is there, whatever it is."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _is_over(channel: Path, epoch: int) -> tuple[bool, str]:
    try:
        status = Status.of(channel)
    except FileNotFoundError:
        return True, "the channel was removed"
    if status.epoch != epoch:
        return True, "the simulation was started again before it answered"
    if status.state != "running":
        return True, f"the simulation has ended ({status.state}) before it answered"
    return False, ""


def _withdraw(request: Path) -> bool:
    """Take a request back; return whether it was there to be taken back."""
    try:
        request.unlink()
    except FileNotFoundError:
        return False
    return True


def _appear(path: Path, content: dict[str, Any]) -> None:
    """Write a file that is seen when it is whole."""
    part = path.with_name(f"{path.name}.part")  # of another ending: nobody takes it for whole
    try:
        part.write_text(json.dumps(content), encoding="utf-8")
        part.rename(path)
    except OSError:
        with suppress(OSError):
            part.unlink()
        raise
