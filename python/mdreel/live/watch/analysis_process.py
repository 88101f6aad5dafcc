"""Process that runs an analysis for the page."""

import json
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from queue import Empty, Queue
from threading import Lock, Thread, Timer
from typing import Any

from mdreel.errors import FormatError, StreamError, StreamTimeoutError
from mdreel.foundation.json_lines import encode_line
from mdreel.foundation.printable import printable
from mdreel.foundation.untrusted_input import object_of, text
from mdreel.live.notices.file import notice_process
from mdreel.live.notices.process import Process
from mdreel.live.notices.reader import list_notices

_END_SECONDS = 10.0
"""Time after which a process that has been told to stop is killed, in s."""
_SAVE_SECONDS = 30.0
"""Maximum time to wait for the results of an analysis, in s."""
_MOST_LINE = 16 << 10


class AnalysisProcess:
    """Process that runs an analysis of a channel. It ends when its standard input is closed, even after a crash.

    Parameters
    ----------
    command : sequence of str
        Program that reads the task and then instructions as JSON lines, and reports its state as JSON lines.
    channel : Path
        Directory of the channel.
    task : mapping
        Task of the process.

    Attributes
    ----------
    state : str
        ``starting``, ``running``, ``paused``, ``finished``, ``failed`` or ``stopped``.
    reason : str or None
        Reason for a failure.
    """

    def __init__(self, command: Sequence[str], channel: Path, task: Mapping[str, Any]) -> None:
        self.state = "starting"
        self.reason: str | None = None
        self._channel = channel
        self._lock = Lock()
        self._saving = Lock()
        self._saved: Queue[str | None] = Queue()
        self._on_end: list[Callable[[], None]] = []
        self._process = subprocess.Popen(
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C reaches only the server, which then closes the input
        )
        self._identity = Process.from_id(self._process.pid)
        self._thread = Thread(target=self._listen, daemon=True)
        self._thread.start()
        self._tell(task)

    @property
    def number(self) -> int:
        """Process ID, which the notices of the analysis also contain."""
        return self._process.pid

    @property
    def has_ended(self) -> bool:
        """Whether the analysis has ended for any reason."""
        return self.state in ("finished", "failed", "stopped")

    def pause(self) -> None:
        """Leave out all frames until `resume` is called."""
        self._tell({"do": "pause"})

    def resume(self) -> None:
        """Analyse the frames that are published from now on."""
        self._tell({"do": "resume"})

    def save(self, path: Path) -> None:
        """Write the results so far to a file, whose ending determines the format.

        Raises
        ------
        StreamError
            If there are no results, or if they cannot be written.
        StreamTimeoutError
            If the analysis does not answer in time.
        """
        with self._saving:
            while not self._saved.empty():
                self._saved.get_nowait()
            if not self._thread.is_alive():
                raise StreamError("the analysis has ended")
            self._tell({"do": "save", "path": str(path)})
            try:
                failure = self._saved.get(timeout=_SAVE_SECONDS)
            except Empty:
                raise StreamTimeoutError("the analysis is busy; try again later") from None
        if failure is not None:
            raise StreamError(failure)

    def stop(self, removes_notice: bool = False) -> None:
        """Tell the process to end, without waiting for it. Optionally, remove its notice when it has ended."""
        if removes_notice:
            self._on_end.append(self._remove_notices)
        with self._lock, suppress(OSError, ValueError):
            assert self._process.stdin is not None
            self._process.stdin.close()
        if self._thread.is_alive():
            killer = Timer(_END_SECONDS, self._process.kill)
            killer.daemon = True
            killer.start()
            self._on_end.append(killer.cancel)
        if not self._thread.is_alive():
            self._run_last()

    def wait(self, seconds: float) -> bool:
        """Wait until the process has ended. Return False if it has not ended in time."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def kill(self) -> None:
        """End the process at once."""
        self._process.kill()

    def _tell(self, line: Mapping[str, Any]) -> None:
        with self._lock, suppress(OSError, ValueError):  # it has ended
            assert self._process.stdin is not None
            self._process.stdin.write(encode_line(line))
            self._process.stdin.flush()

    def _listen(self) -> None:
        """Read what the process reports until it ends."""
        assert self._process.stdout is not None
        with self._process.stdout as said:
            while line := said.readline(_MOST_LINE):
                with suppress(FormatError, json.JSONDecodeError):
                    self._hear(object_of(line))
        status = self._process.wait()
        if not self.has_ended:
            how = f"exit status {status}" if status >= 0 else f"signal {-status}"
            self.state, self.reason = "failed", f"its process has ended with {how}"
        self._saved.put("the analysis has ended")
        self._run_last()

    def _hear(self, said: dict[str, Any]) -> None:
        if "saved" in said:
            self._saved.put(None if said["saved"] is True else printable(text(said, "reason", _MOST_LINE)))
            return
        self.reason = None if said.get("reason") is None else printable(text(said, "reason", _MOST_LINE))
        self.state = text(said, "state")

    def _run_last(self) -> None:
        while self._on_end:
            with suppress(IndexError):
                self._on_end.pop()()

    def _remove_notices(self) -> None:
        for path in list_notices(self._channel):
            if notice_process(path) == self._identity:
                path.unlink(missing_ok=True)
