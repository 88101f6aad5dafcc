"""Control of the process that writes the archive of a running simulation."""

import os
import pickle
import subprocess
import sys
import warnings
from pathlib import Path
from time import monotonic

from mdreel.errors import MdreelWarning, StreamError
from mdreel.execution.executors.reraise_signals import postpone_signals
from mdreel.foundation.atomic_files import check_target
from mdreel.foundation.printable import printable
from mdreel.live.archives.options import Archive, wait_until_unused

JOINED = b"joined\n"
"""Message that the process sends when it has joined. From then on, new frames are retained until they are archived."""

DONE = b"done\n"
"""Message that the process sends if an earlier process has already completed the file."""

LOG = "archive.log"
"""Log file of the process, in the channel's directory."""

_PROGRAM = "mdreel.live.archives.process"
_LEAVE_SECONDS = 10.0
_POLL_SECONDS = 1.0


class ArchiverProcess:
    """Process that writes the archive of a channel.

    The process ignores Ctrl-C and continues to run after the simulation has ended, so that all published frames are
    archived.

    Attributes
    ----------
    is_missing : bool
        Whether the process could not be started.
    """

    def __init__(self, channel: Path, archive: Archive) -> None:
        self._channel = channel
        self._archive = archive
        self._path = Path(archive.path)
        self._process: subprocess.Popen[bytes] | None = None
        self._checked_at = 0.0
        self.is_missing = False

    def is_wanted(self) -> bool:
        """Return whether a process has to be started. Call this method before you open the channel.

        If an earlier producer has died, its archiver process normally exits when it notices that the producer is lost,
        and this method waits until then. If that process waits for a restart instead, it continues to archive, and no
        new process is needed. The same applies if ``mdreel archive`` is running with the same file.

        Warns
        -----
        MdreelWarning
            If the file exists and must not be replaced, or if it cannot be created.
        """
        try:
            check_target(self._path, self._archive.force)
            return wait_until_unused(self._path, _LEAVE_SECONDS)
        except OSError as error:
            self._warn_unstarted(error)
            return False

    def start(self) -> None:
        """Start the process and wait until it has joined the channel.

        Warns
        -----
        MdreelWarning
            If the archive cannot be started; see `mdreel.live.archive`. The simulation then runs without an archive.
        """
        try:
            self._start_and_wait()
        except Exception as error:  # noqa: BLE001 (no error of an archive may keep the simulation from its start)
            self._warn_unstarted(error)

    def _start_and_wait(self) -> None:
        said = DONE
        while said == DONE:
            said = self._start()
        if said != JOINED:
            code = self._wait_for_exit()
            if said:
                raise pickle.loads(said)  # noqa: S301 (sent by our own process)
            raise StreamError(f"the archive could not be started: {self._failure_reason(code)}", path=self._path)

    def check(self) -> None:
        """Warn once if the process has ended while the simulation is running."""
        now = monotonic()
        if self._process is None or now - self._checked_at < _POLL_SECONDS:
            return
        self._checked_at = now
        if self._process.poll() is not None:
            self._warn(self._wait_for_exit())

    def end(self, is_failure: bool) -> None:
        """After the channel has ended, wait for the file. Warn if it is incomplete, unless the simulation failed."""
        if self._process is None:
            return
        self._process.wait()
        code = self._wait_for_exit()
        if code and not is_failure:
            self._warn(code)

    def _start(self) -> bytes:
        precision = "" if self._archive.precision is None else repr(float(self._archive.precision))
        force = "force" if self._archive.force else ""
        command = [sys.executable, "-P", "-m", _PROGRAM, str(self._channel), str(self._path.resolve())]
        paths = [path or str(Path.cwd()) for path in sys.path]
        try:
            # A signal during `Popen` would leave an untracked process.
            with (self._channel / LOG).open("wb") as log, postpone_signals():
                self._process = subprocess.Popen(
                    [*command, precision, self._archive.group, force],
                    env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    start_new_session=True,
                )
            assert self._process.stdout is not None
            with self._process.stdout as heard:
                return first if (first := heard.readline()) in (JOINED, DONE) else first + heard.read()
        except BaseException:
            if self._process is not None:
                self._process.kill()
                self._wait_for_exit()
            raise

    def _wait_for_exit(self) -> int:
        """Wait for the process and return its exit code."""
        assert self._process is not None
        code = self._process.wait()
        self._process = None
        return code

    def _failure_reason(self, code: int) -> str:
        if code < 0:
            return f"signal {-code} ended the process"
        try:
            lines = (self._channel / LOG).read_text(errors="replace").splitlines()
        except OSError:
            lines = []
        return lines[-1] if lines else f"the process ended with exit code {code}"

    def _warn_unstarted(self, error: Exception) -> None:
        self.is_missing = True
        reason = f"{error.strerror}" if isinstance(error, OSError) and error.strerror else str(error)
        command = f"mdreel archive {self._channel} -o FILE"
        warnings.warn(
            f"{self._path} is not being archived: {printable(reason)}; the simulation runs without its archive. Start "
            f"another archive while it runs (`{command}`), or correct archive= and restart the simulation",
            MdreelWarning,
            stacklevel=4,
        )

    def _warn(self, code: int) -> None:
        command = f"mdreel archive {self._channel} -o {self._path}"
        warnings.warn(
            f"{self._path} is no longer being archived: {self._failure_reason(code)}; run `{command}` to continue "
            "with the frames that staging still contains",
            MdreelWarning,
            stacklevel=4,
        )
