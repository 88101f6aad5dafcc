"""Archiver process of a producer."""

import os
import pickle
import subprocess
import sys
import warnings
from pathlib import Path
from time import monotonic

from mdreel.errors import StreamError
from mdreel.foundation.atomic_files import check_target
from mdreel.live.archives.options import Archive, is_left

JOINED = b"joined\n"
"""What the process says when no frame from now on can go before it was archived."""

DONE = b"done\n"
"""What it says when a process of before had left the file whole, so that it has not joined."""

LOG = "archive.log"
"""The file in the channel's directory for what it says besides."""

_PROGRAM = "mdreel.live.archives.process"
_LEAVE_SECONDS = 10.0
_LOOK_SECONDS = 1.0


class Archiving:
    """The process that writes the archive of a channel.

    It outlives the simulation: what that has published before it died is archived, and Ctrl-C is not for it.

    Parameters
    ----------
    channel : Path
        The channel's directory.
    archive : Archive
        What is to be written.
    """

    def __init__(self, channel: Path, archive: Archive) -> None:
        self._channel = channel
        self._archive = archive
        self._path = Path(archive.path)
        self._process: subprocess.Popen[bytes] | None = None
        self._looked_at = 0.0

    def is_wanted(self) -> bool:
        """Return whether a process is to be started, before the channel is opened.

        That of a producer that has died takes the loss for the end of its work, and is waited for. Who does not leave
        has more patience, and goes on.

        Raises
        ------
        OSError
            If the file exists and is not to be replaced, or cannot be made.
        """
        check_target(self._path, self._archive.force)
        return is_left(self._path, _LEAVE_SECONDS)

    def start(self) -> None:
        """Start the process, and wait until it has joined the channel.

        Raises
        ------
        MdreelError, OSError
            As of `mdreel.live.archives.archive`, if the archive cannot be begun.
        """
        said = DONE
        while said == DONE:
            said = self._start()
        if said != JOINED:
            code = self._ended()
            if said:
                raise pickle.loads(said)  # noqa: S301 (our own process has made it)
            raise StreamError(f"{self._path}: its archive could not be begun: {self._last_word(code)}")

    def check(self) -> None:
        """Warn, once, if the process has ended while the simulation goes on.

        Warns
        -----
        UserWarning
            If it has.
        """
        now = monotonic()
        if self._process is None or now - self._looked_at < _LOOK_SECONDS:
            return
        self._looked_at = now
        if self._process.poll() is not None:
            self._warn(self._ended())

    def end(self, is_failure: bool) -> None:
        """Wait until the file is whole, when the channel has ended.

        Parameters
        ----------
        is_failure : bool
            Whether the simulation has failed: then the file is not to get its name.

        Warns
        -----
        UserWarning
            If it could not be written.
        """
        if self._process is None:
            return
        self._process.wait()
        code = self._ended()
        if code and not is_failure:
            self._warn(code)

    def _start(self) -> bytes:
        precision = "" if self._archive.precision is None else repr(float(self._archive.precision))
        force = "force" if self._archive.force else ""
        command = [sys.executable, "-P", "-m", _PROGRAM, str(self._channel), str(self._path.resolve())]
        paths = [path or str(Path.cwd()) for path in sys.path]
        with (self._channel / LOG).open("wb") as log:
            self._process = subprocess.Popen(
                [*command, precision, self._archive.group, force],
                env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )
        assert self._process.stdout is not None
        try:
            with self._process.stdout as heard:
                return first if (first := heard.readline()) in (JOINED, DONE) else first + heard.read()
        except BaseException:
            self._process.kill()
            self._ended()
            raise

    def _ended(self) -> int:
        """Return how the process has ended, once."""
        assert self._process is not None
        code = self._process.wait()
        self._process = None
        return code

    def _last_word(self, code: int) -> str:
        if code < 0:
            return f"its process was ended by signal {-code}"
        try:
            lines = (self._channel / LOG).read_text(errors="replace").splitlines()
        except OSError:
            lines = []
        return lines[-1] if lines else f"its process has ended with exit code {code}"

    def _warn(self, code: int) -> None:
        command = f"mdreel archive {self._channel} -o {self._path}"
        warnings.warn(
            f"{self._path} is not being archived any more: {self._last_word(code)}; `{command}` goes on with it, with "
            "frames that staging still has",
            stacklevel=4,
        )
