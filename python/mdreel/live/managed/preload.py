"""Managed directories for unmodified programs, based on a preloaded library that wraps ``open`` and ``close``."""

import os
import subprocess
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from hashlib import sha256
from os import PathLike
from pathlib import Path
from tempfile import NamedTemporaryFile

from mdreel._core import DirectoryReader, preload_library
from mdreel.errors import MismatchError, UnsupportedError
from mdreel.execution.executors.reraise_signals import postpone_signals
from mdreel.live.managed.writer import ManagedProducer

DIRECTORIES = "MDREEL_MANAGED"
"""Environment variable with the absolute paths of the managed directories, separated by colons."""

TIMEOUT = "MDREEL_MANAGED_TIMEOUT"
"""Environment variable with the maximum time to wait for a file, in s. If it is 0, programs do not wait."""

_LOADED = "LD_PRELOAD"


def managed_environment(
    directory: str | PathLike[str] | Iterable[str | PathLike[str]], timeout: float | None = None
) -> dict[str, str]:
    """Return the environment variables for a program that uses managed directories.

    Files that a program writes to these directories will be published when they are closed. If the program opens a
    missing file for reading, it waits until the file is published. For details, see
    ``docs/how-to/managed-directories.md``.

    Parameters
    ----------
    directory : str or path, or several of them
        The directories, which will be created if they do not exist.
    timeout : float, optional
        Maximum time to wait for a file, in s. By default, programs will wait until the last producer has ended. You
        should use 0 for programs that check whether optional files exist, as is often the case for programs that write
        files.

    Returns
    -------
    dict of str to str
        Environment of this process, to which the library and its settings have been added.

    Raises
    ------
    UnsupportedError
        When the library does not support this system or a path.
    PermissionError
        When another user owns one of these directories or can access it.
    MismatchError
        When the timeout is negative.

    Examples
    --------
    >>> import subprocess
    >>> import mdreel
    >>> environment = mdreel.live.managed_environment("frames", timeout=60)  # doctest: +SKIP
    >>> subprocess.run(["cat", "frames/1.pdb"], env=environment)  # doctest: +SKIP
    """
    if timeout is not None and not timeout >= 0:
        raise MismatchError(f"timeout must be a time in seconds, 0 or more, not {timeout}")
    several = [directory] if isinstance(directory, str | PathLike) else list(directory)
    paths = [_create_directory(Path(path)) for path in several]
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
    """Run an unmodified program with a managed directory, and wait until the program has ended.

    Parameters
    ----------
    command : sequence of str or path
        The program and its arguments.
    directory : str or path
        The directory, which will be created if it does not exist.
    produces : bool
        Whether the program is a producer. If so, the state of the directory will change to *finished* when the program
        exits with an exit status of 0, and to *failed* otherwise. Producers do not wait for missing files unless you
        set `timeout`.
    timeout : float, optional
        Maximum time to wait for a file, in s. By default, producers do not wait, but all other programs will wait until
        the last producer has ended.
    shared : bool
        Whether other producers with ``shared=True`` may write to the directory.

    Returns
    -------
    int
        Exit status of the program, which is negative if the program was ended by a signal.

    Raises
    ------
    StreamError
        If another producer is running, unless both are shared.
    FileNotFoundError
        If the program does not exist.

    Examples
    --------
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import PSF
    >>> mdreel.live.run_managed(["cp", PSF, "frames/adk.psf"], "frames")
    0
    >>> mdreel.live.ManagedDirectory("frames").names()
    ['adk.psf']
    """
    if produces and timeout is None:
        timeout = 0.0
    environment = managed_environment(directory, timeout)
    producing = ManagedProducer(directory, shared=shared) if produces else None
    with producing or nullcontext():
        status = _run([os.fspath(word) for word in command], environment)
        if producing is not None and status:
            how = f"exit status {status}" if status > 0 else f"signal {-status}"
            producing.end("failed", f"{os.fspath(command[0])}: {how}")
    return status


def _run(command: list[str], environment: dict[str, str]) -> int:
    """Run a program and return its exit status. Terminate the program if this process is interrupted."""
    process = None
    try:
        with postpone_signals():  # a signal during `Popen` would leave an untracked process
            process = subprocess.Popen(command, env=environment)
        return process.wait()
    except BaseException:
        if process is not None:
            with process:
                process.terminate()
        raise


def _create_directory(directory: Path) -> Path:
    """Create a directory to which only the user has access, and return its absolute path."""
    path = directory.absolute()
    if ":" in str(path):
        raise UnsupportedError("the path of a managed directory must not contain a colon", path=path)
    path.mkdir(mode=0o700, exist_ok=True)
    DirectoryReader(path)  # checks the permissions
    return path


def _library() -> Path:
    """Return the path of the library, which is written to the user's cache when it is first used."""
    contents = preload_library()
    if contents is None:
        raise UnsupportedError("unmodified programs need Linux with glibc on x86-64 or ARM64")
    cache = os.environ.get("MDREEL_CACHE_DIR") or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "mdreel")
    folder = Path(cache).expanduser().absolute() / "preload"
    # The name contains the hash of the library, so that each version has its own file.
    path = folder / f"libmdreel_preload-{sha256(contents).hexdigest()[:16]}.so"
    if any(letter in str(path) for letter in ": "):
        raise UnsupportedError(f"{_LOADED} allows no colon or space in a path; set MDREEL_CACHE_DIR", path=path)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Never load a library that other users could have changed, or that is incomplete.
    DirectoryReader(folder)
    if not path.is_file() or path.read_bytes() != contents:
        with NamedTemporaryFile(dir=folder, delete=False) as file:
            file.write(contents)
        Path(file.name).chmod(0o700)
        Path(file.name).replace(path)
    return path
