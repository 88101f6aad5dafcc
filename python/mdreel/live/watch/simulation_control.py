"""Pauses of simulations, which operators request on the page."""

from pathlib import Path
from threading import Lock

from mdreel.live.channels.requests import send_request
from mdreel.live.channels.status import Status

_ANSWER_SECONDS = 8.0
"""Maximum time to wait for the answer of a simulation, in s."""


class SimulationControl:
    """Pauses and resumes simulations that support it. All methods can be called from any thread."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._paused: dict[Path, int] = {}  # epoch of the paused producer

    def pause(self, channel: Path) -> str:
        """Pause a simulation after its next frame, and return its answer.

        Raises
        ------
        StreamError
            If the simulation refuses the request, or has ended.
        StreamTimeoutError
            If the simulation does not answer in time, for example because it does not handle requests.
        """
        epoch = Status.read(channel).epoch
        answer = send_request(channel, "pause", timeout=_ANSWER_SECONDS)
        with self._lock:
            self._paused[channel] = epoch
        return answer.message

    def resume(self, channel: Path) -> str:
        """Resume a simulation, and return its answer; see `pause` for the errors."""
        answer = send_request(channel, "resume", timeout=_ANSWER_SECONDS)
        with self._lock:
            self._paused.pop(channel, None)
        return answer.message

    def is_paused(self, channel: Path, status: Status | None) -> bool:
        """Return whether the current run of a channel has been paused on this page."""
        with self._lock:
            return status is not None and status.state == "running" and self._paused.get(channel) == status.epoch
