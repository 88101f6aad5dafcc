"""Programs that know nothing of mdreel, in managed directories: one in C that opens files in every way, and others."""

import shutil
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mdreel.live.managed.preload import managed_environment
from mdreel.live.managed.reader import ManagedDirectory

SOURCE = Path(__file__).parent / "live" / "channels" / "opening.c"
LONG = 60.0  # what is waited for comes at once, but a test must not fail because a machine is busy


@dataclass(frozen=True)
class Programs:
    """How programs are started: in a managed directory, which is their working directory's neighbour."""

    opening: Path
    frames: Path

    def start(
        self, command: Sequence[str | Path], *, timeout: float | None = LONG, cwd: Path | None = None
    ) -> "subprocess.Popen[str]":
        """Start any program."""
        environment = managed_environment(self.frames, timeout)
        pipe = subprocess.PIPE
        return subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, stderr=pipe, text=True, cwd=cwd)

    def open(self, how: str, path: str | Path = "file", timeout: float | None = LONG) -> "subprocess.Popen[str]":
        """Start the one in C, on a file of the directory or elsewhere."""
        return self.start([self.opening, how, self.frames / path], timeout=timeout)

    def names(self) -> list[str]:
        """The names of the files that are published."""
        return ManagedDirectory(self.frames).names("name")

    def hidden(self) -> list[str]:
        """The files that are being written, or were by who has died."""
        return [path.name for path in self.frames.iterdir() if path.name.startswith(".mdreel-part")]


def compiled(folder: Path) -> Path | None:
    """The program in C, if there is a compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        return None
    program = folder / "opening"
    command = [compiler, "-Wall", "-Wextra", "-Werror", "-O1", "-o", str(program), str(SOURCE)]
    subprocess.run(command, check=True)
    return program


def await_half(process: "subprocess.Popen[str]") -> None:
    """Wait until the program has written the first half."""
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line == "half\n", process.communicate()


def end_of(process: "subprocess.Popen[str]", said: str | None = "\n") -> tuple[int, str, str]:
    """Let the program go on; its exit status, and what it has said."""
    out, err = process.communicate(said, timeout=LONG)
    return process.returncode, out, err


def await_waiting(process: "subprocess.Popen[str]") -> None:
    """Wait until the program waits for a file: it has the system tell it of files that come."""
    until = time.monotonic() + LONG
    folder = Path(f"/proc/{process.pid}/fd")
    while time.monotonic() < until:
        assert process.poll() is None, process.communicate()
        for link in list(folder.iterdir()):
            try:
                if "inotify" in str(link.readlink()):
                    return
            except OSError:
                pass  # it was closed meanwhile
        time.sleep(0.001)
    raise AssertionError("the program does not wait")
