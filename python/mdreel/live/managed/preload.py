"""Managed directories for unmodified programs, through a preloaded library."""

import os
import subprocess
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from hashlib import sha256
from os import PathLike
from pathlib import Path
from tempfile import NamedTemporaryFile

from mdreel._core import DirectoryReader, preload_library
from mdreel.errors import MismatchError, UnsupportedError
from mdreel.live.managed.writer import Producing

DIRECTORIES = "MDREEL_MANAGED"
"""The variable of the environment with the managed directories, as absolute paths, colons between them."""

TIMEOUT = "MDREEL_MANAGED_TIMEOUT"
"""The variable with the time for which a file is waited for, s; 0 for not at all."""

_LOADED = "LD_PRELOAD"


def managed_environment(
    directory: str | PathLike[str] | Iterable[str | PathLike[str]], timeout: float | None = None
) -> dict[str, str]:
    """Return the environment in which a program finds managed directories.

    There, a file that the program opens to write is published when it closes it; and opening one to read that is not
    there waits for it. ``docs/managed-directories.md`` says what holds.

    Parameters
    ----------
    directory : str or path, or several of them
        The directories; one that is not there is made.
    timeout : float, optional
        For how long a file is waited for, s; by default as long as a producer may come or lives. 0 is for programs that
        look for files that they may find or not, as those that write them often do.

    Returns
    -------
    dict of str to str
        This process's environment, with the library and what it needs to know.

    Raises
    ------
    UnsupportedError
        If there is no library for this system, or a path cannot be said to it.
    PermissionError
        If a directory belongs to somebody else, or others may enter.
    MismatchError
        If the timeout is less than 0.

    Examples
    --------
    >>> import subprocess
    >>> from mdreel.live.managed.preload import managed_environment
    >>> environment = managed_environment("frames", timeout=60)  # doctest: +SKIP
    >>> subprocess.run(["cat", "frames/1.pdb"], env=environment)  # doctest: +SKIP
    """
    if timeout is not None and not timeout >= 0:
        raise MismatchError(f"timeout must be a time in seconds, 0 or more, not {timeout}")
    several = [directory] if isinstance(directory, str | PathLike) else list(directory)
    paths = [_made(Path(path)) for path in several]
    environment = dict(os.environ)
    loaded = [str(_library()), *filter(None, environment.get(_LOADED, "").split(":"))]
    environment[_LOADED] = ":".join(dict.fromkeys(loaded))
    environment[DIRECTORIES] = ":".join(map(str, paths))
    environment.pop(TIMEOUT, None)
    if timeout is not None:
        environment[TIMEOUT] = f"{timeout:f}"
    return environment


def run_managed(
    command: Sequence[str | PathLike[str]],
    directory: str | PathLike[str],
    *,
    produces: bool = True,
    timeout: float | None = None,
    shared: bool = False,
) -> int:
    """Run a program that knows nothing of mdreel in a managed directory, and wait for its end.

    Parameters
    ----------
    command : sequence of str or path
        The program and its arguments.
    directory : str or path
        The directory; it is made if it is not there.
    produces : bool
        Whether the program is a producer: then the directory ends with it, as *finished* if its exit status is 0, and
        as *failed* else; and files that are not there are not waited for, unless there is a `timeout`.
    timeout : float, optional
        For how long a file is waited for, s. By default as long as a producer may come or lives, and for producers not
        at all.
    shared : bool
        Whether there may be other producers, which say the same.

    Returns
    -------
    int
        Its exit status; less than 0 for the signal that has ended it.

    Raises
    ------
    StreamError
        If another producer lives, and not both say that they share.
    FileNotFoundError
        If there is no such program.
    """
    if produces and timeout is None:
        timeout = 0.0
    environment = managed_environment(directory, timeout)
    producing = Producing(directory, shared=shared) if produces else None
    with producing or nullcontext():
        status = _run([os.fspath(word) for word in command], environment)
        if producing is not None and status:
            how = f"exit status {status}" if status > 0 else f"signal {-status}"
            producing.end("failed", f"{os.fspath(command[0])}: {how}")
    return status


def _run(command: list[str], environment: dict[str, str]) -> int:
    """Run a program and return its exit status; it does not go on without the one who tells of its end."""
    begun: list[subprocess.Popen[bytes]] = []
    with ThreadPoolExecutor(1) as thread:
        try:
            # On a thread, as a signal that came meanwhile would leave a program that nobody knows of.
            thread.submit(lambda: begun.append(subprocess.Popen(command, env=environment))).result()
            return begun[0].wait()
        except BaseException:
            thread.shutdown()  # whatever was handed to it is done then, also if the signal came as that was handed over
            for process in begun:
                with process:
                    process.terminate()
            raise


def _made(directory: Path) -> Path:
    """Return the absolute path of a directory that is there, and the user's."""
    path = directory.absolute()
    if ":" in str(path):
        raise UnsupportedError(f"{path}: programs cannot be told of a directory with a colon in its path")
    path.mkdir(mode=0o700, exist_ok=True)
    DirectoryReader(path)  # nobody else may enter
    return path


def _library() -> Path:
    """Return the library's file: in the user's cache, where it is written when it is first needed."""
    contents = preload_library()
    if contents is None:
        raise UnsupportedError("programs that know nothing of mdreel need Linux with glibc on x86-64 or ARM64")
    cache = os.environ.get("MDREEL_CACHE_DIR") or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "mdreel")
    folder = Path(cache).expanduser().absolute() / "preload"
    # Its name is that of what is in it: another version of mdreel has another one.
    path = folder / f"libmdreel_preload-{sha256(contents).hexdigest()[:16]}.so"
    if any(letter in str(path) for letter in ": "):
        raise UnsupportedError(f"{path}: {_LOADED} takes no path with a colon or a space: set MDREEL_CACHE_DIR")
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    # What others could have changed is not loaded into programs, nor what is not whole.
    DirectoryReader(folder)
    if not path.is_file() or path.read_bytes() != contents:
        with NamedTemporaryFile(dir=folder, delete=False) as file:
            file.write(contents)
        Path(file.name).chmod(0o700)
        Path(file.name).replace(path)
    return path
