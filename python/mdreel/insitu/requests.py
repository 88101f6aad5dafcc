"""Requests to a simulation: stop, write a checkpoint, publish more seldom. It looks at them between two frames.

A request is a file in the folder ``requests`` of the channel's directory, and so is its answer. Both appear by a
rename, whole. A producer takes a request by a rename, too, so that who has asked can withdraw it until then.
"""

import json
import secrets
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, sleep, time_ns
from typing import Any

from mdreel.errors import FormatError, StreamError, StreamTimeoutError
from mdreel.insitu.status import Status

FOLDER = "requests"
"""Where in the directory of a channel requests are."""

_REQUEST, _TAKEN, _ANSWER = ".request", ".taken", ".answer"
_LOOK_SECONDS = 0.01
_STATUS_SECONDS = 0.25


@dataclass(frozen=True)
class Request:
    """What a simulation is asked to do; it must be answered or refused.

    Attributes
    ----------
    kind : str
        What: ``stop``, ``checkpoint``, ``change-stride``, or whatever the two sides have agreed on.
    arguments : dict
        Numbers and texts that belong to it.
    """

    kind: str
    arguments: Mapping[str, Any]
    _taken: Path = field(repr=False)

    def answer(self, message: str, **facts: Any) -> None:
        """Say that it was done.

        Parameters
        ----------
        message : str
            What was done, for people.
        **facts
            Numbers and texts for programs, such as ``checkpoint``, a path.
        """
        self._say({"done": True, "message": message, "facts": facts})

    def refuse(self, message: str) -> None:
        """Say why it was not done."""
        self._say({"done": False, "message": message, "facts": {}})

    def _say(self, answer: dict[str, Any]) -> None:
        _appear(self._taken.with_suffix(_ANSWER), answer)
        self._taken.unlink(missing_ok=True)


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
    """

    def __init__(self, channel: Path, epoch: int) -> None:
        self._folder = channel / FOLDER
        self._epoch = epoch
        self._has_swept = False

    def take(self) -> list[Request]:
        """Return what was asked since, the oldest first."""
        try:
            names = [path.name for path in self._folder.iterdir()]
        except FileNotFoundError:
            return []
        if not self._has_swept:
            self._has_swept = True
            for name in names:  # of producers before
                if name.endswith((_TAKEN, _ANSWER)):
                    (self._folder / name).unlink(missing_ok=True)
        found = []
        for name in sorted(name for name in names if name.endswith(_REQUEST)):
            path = self._folder / name
            taken = path.with_suffix(_TAKEN)
            try:
                path.rename(taken)
            except FileNotFoundError:
                continue  # it was withdrawn
            try:
                asked = _read(taken)
            except FormatError as error:  # no reason to end a simulation
                Request("", {}, taken).refuse(str(error))
                continue
            request = Request(str(asked.get("kind")), asked.get("arguments", {}), taken)
            if asked.get("epoch") == self._epoch:
                found.append(request)
            else:
                request.refuse("it was made to the simulation before, which has ended")
        return found


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
        said = _read(path)
    except FileNotFoundError:
        return None
    path.unlink(missing_ok=True)
    if not said.get("done"):
        raise StreamError(f"the simulation refuses: {said.get('message')}")
    return Answer(str(said.get("message")), said.get("facts", {}))


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


def _read(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise FormatError(f"{path}: no request or answer: {error}") from error
    if not isinstance(content, dict):
        raise FormatError(f"{path}: no request or answer: expected an object")
    return content
