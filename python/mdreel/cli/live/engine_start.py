"""Start of an engine for ``mdreel steer``: its frames must be those of this run, and of the named channel."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep

from mdreel.cli.analyses.request import Request
from mdreel.cli.output import echo
from mdreel.errors import MdreelError, MismatchError

_POLL_SECONDS = 0.02

_QUIET_SECONDS = 5.0
"""Time for which the command waits for a channel before it looks for others, in s."""


@contextmanager
def start_engine(command: list[str], request: Request, place: Path) -> "Iterator[subprocess.Popen[bytes]]":
    """Start the engine, and wait until the channel or trajectory belongs to this run rather than an earlier run.

    Raises
    ------
    MismatchError
        If the engine cannot be started, if it ends without writing a frame although frames of an earlier run exist, or
        if it publishes on another channel. In the last case, the engine is terminated.
    """
    from mdreel.live.steering.engine_process import engine

    before = _file_state(place)
    earlier = None if request.channel is None or request.channel_new_run else _run_of(place)
    with engine(command) as process:
        if request.channel is not None:
            _await_channel(place, request, process)
            if process.poll() is not None and earlier is not None and earlier == _run_of(place):
                raise MismatchError(_only_earlier(process, "publishing on the channel"), path=place)
        else:
            _await_change(place, before, process)
            if process.poll() is not None and before is not None and before == _file_state(place):
                raise MismatchError(_only_earlier(process, "writing to the trajectory"), path=place)
        yield process


def _only_earlier(process: "subprocess.Popen[bytes]", what: str) -> str:
    ended = f"the engine has ended with status {process.returncode} without {what}"
    return f"{ended}, which has only frames of an earlier run"


def _run_of(place: Path) -> tuple[int, int] | None:
    """Return values that differ for each run of a channel, or None if there is no channel."""
    from mdreel.live.channels.status import Status

    try:
        return place.stat().st_ino, Status.read(place).epoch
    except (OSError, MdreelError):
        return None


def _await_channel(place: Path, request: Request, process: "subprocess.Popen[bytes]") -> None:
    """Wait until the engine has opened its channel, because an existing channel could belong to an earlier run."""
    from mdreel.live.channels.directory import describe_other_channels
    from mdreel.live.channels.status import Status

    began, is_announced = monotonic(), request.quiet
    until = None if request.channel_wait is None else began + request.channel_wait
    while process.poll() is None and (until is None or monotonic() < until):
        try:
            if Status.read(place).state == "running":
                return
        except FileNotFoundError:
            pass
        if monotonic() - began > _QUIET_SECONDS:
            _check_other_channels(place, process)
            if not is_announced:
                is_announced = True
                others = "" if place.exists() else describe_other_channels(place)
                echo(f"mdreel: waiting until the engine publishes on the channel {place}{others}", err=True)
        sleep(_POLL_SECONDS)


def _check_other_channels(place: Path, process: "subprocess.Popen[bytes]") -> None:
    """Terminate the engine and raise an error if it publishes on another channel of the same folder."""
    from mdreel.live.channels.status import Status

    for path in place.parent.iterdir() if place.parent.is_dir() else ():
        try:
            status = Status.read(path)
        except (OSError, MdreelError):
            continue
        producer = status.producer
        if path != place and status.state == "running" and producer and _is_part_of(producer.process, process.pid):
            process.terminate()
            message = f"the engine publishes on the channel {path.name} instead: give --channel {path.name}"
            raise MismatchError(f"{message} (the engine has been terminated)", path=place)


def _is_part_of(process: int, ancestor: int) -> bool:
    """Return whether a process is another one, or was started by it directly or indirectly."""
    while process > 1 and process != ancestor:
        try:
            # The name of the program, which is in parentheses, may contain spaces.
            process = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
        except OSError:  # the process has ended
            return False
    return process == ancestor


def _file_state(path: Path) -> tuple[int, int, int] | None:
    try:
        facts = path.stat()
    except FileNotFoundError:
        return None
    return facts.st_ino, facts.st_size, facts.st_mtime_ns


def _await_change(path: Path, before: tuple[int, int, int] | None, process: "subprocess.Popen[bytes]") -> None:
    """Wait until the engine has modified an existing trajectory, because it could belong to an earlier run."""
    while before is not None and _file_state(path) == before and process.poll() is None:
        sleep(_POLL_SECONDS)
