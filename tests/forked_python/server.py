"""Server that has imported NumPy, MDAnalysis and mdreel, and forks a process for each launcher that connects.

    python server.py ADDRESS

It prints a line when it listens, and ends with its standard input. The stand-in for the interpreter lies beside the
address. It is `sys.executable` in all processes, so that the processes that they start are forked, too.
"""

import atexit
import ctypes
import fcntl
import gc
import importlib
import io
import marshal
import multiprocessing
import os
import pkgutil
import runpy
import select
import selectors
import signal
import socket
import sys
import threading
import types
import warnings
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

sys.path.insert(1, str(Path(__file__).parents[1]))

from forked_python.launcher import inherited

_HIGH, _MOST_FILES = 500, 64
_PATIENCE = 60.0
"""Seconds that a launcher may take for its request."""
MODULES = (
    "MDAnalysis.analysis.align",
    "MDAnalysis.analysis.rms",
    "MDAnalysisTests.datafiles",
    "click",
    "matplotlib.figure",
    "mdreel",
    "mdreel_lab",
    "openmm.app",  # which MDAnalysis looks for
    "rich.progress",
)
"""What is imported, where it is installed; packages of ours with all that is in them."""
Request = tuple[str, list[str], dict[str, str], list[int], list[int], list[object]]
"""Working directory, arguments, variables, ignored signals, open files, and what else a process has inherited."""
MAY_DIFFER = ("PYTHONPATH", "PYTHONWARNINGS", "LD_LIBRARY_PATH")
"""Variables that may differ: processes obey the first two, and ranks of Open MPI do not need the third."""
OF_DASK = {"MALLOC_TRIM_THRESHOLD_": "65536", "PYTHONHASHSEED": "6640"}
"""Variables that Dask sets in each process that starts a cluster, for all that the process starts afterwards. Workers
of Dask need a common seed, which all forked processes have."""
OPTIONS = ("-B", "-P", "-u", *(["-s"] if sys.flags.no_user_site else []))
"""Options of the interpreter without values that a process may have. `multiprocessing` passes on those that variables,
such as PYTHONDONTWRITEBYTECODE and PYTHONNOUSERSITE, have set."""
AT_START = ("LD_", "PYTHON", "MALLOC_", "GLIBC_", "FAKETIME")
"""Beginnings of the names of variables that the interpreter and libraries read when they start."""


def main() -> None:
    os.setsid()  # Ctrl-C on the terminal is for the launchers
    n_filters = len(warnings.filters)
    from MDAnalysis import Universe
    from MDAnalysisTests import datafiles

    from parsed_topologies import parse_once

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _import_all()
        parse_once()
        for file in (datafiles.PSF, datafiles.GRO, datafiles.TPR):
            Universe(file)
    gc.collect()
    gc.freeze()
    sys.executable = str(Path(sys.argv[1]).with_name("python"))
    multiprocessing.set_executable(sys.executable)
    request = Server(sys.argv[1]).serve()
    _become(request, n_filters)
    os._exit(_end_with(_status_of(request[1])))


def _import_all() -> None:
    for name in MODULES:
        with suppress(ModuleNotFoundError):
            package = importlib.import_module(name)
            if name.startswith("mdreel"):
                for module in pkgutil.walk_packages(package.__path__, f"{name}."):
                    if "mpi" not in module.name and "__main__" not in module.name:
                        with suppress(ModuleNotFoundError):  # of an engine that is not installed
                            importlib.import_module(module.name)


class Server:
    """Forks for launchers, passes on the ends of processes, and ends those whose launcher was killed."""

    def __init__(self, address: str) -> None:
        self._selector = selectors.DefaultSelector()
        self._inherited = inherited()
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(address)
        self._listener.listen(64)
        self._running: dict[int, tuple[int, socket.socket]] = {}  # by the handle of the process
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._selector.register(0, selectors.EVENT_READ)
        print("listening", flush=True)

    def serve(self) -> Request:
        """Fork for each launcher; return the request in the new process."""
        while True:
            for key, _ in self._selector.select():
                if key.fileobj == 0:
                    os._exit(0)
                elif key.fileobj is self._listener:
                    if request := self._fork():
                        return request
                elif key.fd in self._running:
                    self._tell_end(key.fd)
                else:  # the launcher was killed, or was told just now
                    with suppress(KeyError, ValueError):
                        self._selector.unregister(key.fileobj)
                    if key.data in self._running:
                        self._kill(key.data)

    def _fork(self) -> Request | None:
        """Answer a launcher; return its request in the new process."""
        launcher = self._listener.accept()[0]
        launcher.settimeout(_PATIENCE)
        try:
            request, files = _receive(launcher)
        except (OSError, EOFError):  # a launcher that was killed before its request was complete
            launcher.close()
            return None
        is_like_us = request[5] == self._inherited
        process = os.fork() if is_like_us and _can_be_forked(request) else -1
        if process == 0:
            # The kernel kills the process when its launcher is killed, before anybody can know of that end. The process
            # itself asks for this before it does anything else: the server could be too late.
            fcntl.fcntl(launcher, fcntl.F_SETSIG, signal.SIGKILL)
            fcntl.fcntl(launcher, fcntl.F_SETOWN, os.getpid())
            fcntl.fcntl(launcher, fcntl.F_SETFL, fcntl.fcntl(launcher, fcntl.F_GETFL) | os.O_ASYNC)
            for connection in (launcher, self._listener, self._selector, *(one for _, one in self._running.values())):
                connection.close()
            # Away from the numbers that they are to have.
            apart = [fcntl.fcntl(file, fcntl.F_DUPFD, _HIGH) for file in files]
            for file in (*files, *self._running):
                os.close(file)
            for file, number in zip(apart, (0, 1, 2, *request[4]), strict=True):
                os.dup2(file, number)
                os.close(file)
            return request
        for file in files:
            os.close(file)
        with suppress(OSError):  # the launcher was killed meanwhile; the selector tells so
            launcher.sendall(max(0, process).to_bytes(8, "big"))
        if process < 0:
            launcher.close()
            return None
        handle = os.pidfd_open(process)
        self._running[handle] = (process, launcher)
        self._selector.register(handle, selectors.EVENT_READ)
        self._selector.register(launcher, selectors.EVENT_READ, handle)
        return None

    def _kill(self, handle: int) -> None:
        """Kill the process of a launcher that was killed, before anybody can ask for its successor."""
        os.kill(self._running[handle][0], signal.SIGKILL)
        select.select([handle], [], [], _PATIENCE)

    def _tell_end(self, handle: int) -> None:
        """Tell the launcher how its process has ended."""
        process, launcher = self._running.pop(handle)
        _, status = os.waitpid(process, 0)
        self._selector.unregister(handle)
        os.close(handle)
        with suppress(KeyError):
            self._selector.unregister(launcher)
        with suppress(OSError):
            launcher.sendall(status.to_bytes(8, "big"))
        launcher.close()


def _receive(launcher: socket.socket) -> tuple[Request, list[int]]:
    """Receive a request and the open files of the process."""
    head, files, _, _ = socket.recv_fds(launcher, 8, _MOST_FILES)
    request, n_bytes = b"", int.from_bytes(head, "big")
    while len(request) < n_bytes and (more := launcher.recv(n_bytes - len(request))):
        request += more
    try:
        return marshal.loads(request), files
    except (EOFError, ValueError, TypeError):
        for file in files:
            os.close(file)
        raise EOFError("the request is not complete") from None


def _parsed(words: list[str]) -> tuple[list[str], list[str], list[str]]:
    """Split the arguments of an interpreter into filters of warnings, options without values, and the rest."""
    filters, options = list[str](), list[str]()
    while words and (words[0] in OPTIONS or words[0].startswith("-W")):
        if words[0] == "-W":
            filters, words = [*filters, words[1]], words[2:]
        elif words[0].startswith("-W"):
            filters, words = [*filters, words[0][2:]], words[1:]
        else:
            options, words = [*options, words[0]], words[1:]
    return filters, options, words


def _filter_warnings(filters: list[str], n_own: int) -> None:
    """Put filters of warnings where the interpreter does: before its own, behind those of imported packages."""
    sys.warnoptions[:] = filters
    of_imports = warnings.filters[: len(warnings.filters) - n_own]
    del warnings.filters[: len(of_imports)]  # type: ignore[attr-defined]
    warnings._processoptions(filters)  # type: ignore[attr-defined]
    warnings.filters[:0] = of_imports  # type: ignore[index]
    warnings._filters_mutated()  # type: ignore[attr-defined]


def _can_be_forked(request: Request) -> bool:
    """Whether the process begins as the server did: no other options, the same variables at its start."""
    _, words, variables, *_ = request
    *_, words = _parsed(words)
    known = len(words) > 1 if words[:1] in (["-m"], ["-c"]) else bool(words) and not words[0].startswith("-")
    return known and _at_start(variables) == _at_start(os.environ)


def _at_start(variables: Mapping[str, str]) -> dict[str, str]:
    return {
        name: value
        for name, value in variables.items()
        if name.startswith(AT_START) and name not in MAY_DIFFER and OF_DASK.get(name) != value
    }


def _become(request: Request, n_filters: int) -> None:
    """Take over the working directory, the variables, the signals and the streams of the process."""
    folder, words, variables, ignored, *_ = request
    filters, options, _ = _parsed(words)
    os.setsid()  # a signal for the group of a process is not for the server
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(variables)
    known = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[1:1] = [path for path in known if path and path not in sys.path]
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)
    _filter_warnings([*filter(None, os.environ.get("PYTHONWARNINGS", "").split(",")), *filters], n_filters)
    sys.dont_write_bytecode = sys.dont_write_bytecode or "-B" in options
    at_once = "-u" in options or bool(os.environ.get("PYTHONUNBUFFERED"))
    for name, number, errors in (("stdin", 0, "strict"), ("stdout", 1, "strict"), ("stderr", 2, "backslashreplace")):
        mode = "rb" if number == 0 else "wb"
        buffering = 0 if at_once and number else -1
        stream = io.TextIOWrapper(
            os.fdopen(number, mode, buffering, closefd=False),
            encoding=sys.__stdout__.encoding,
            errors=errors,
            line_buffering=number == 2 or (number == 1 and os.isatty(1)),
            write_through=at_once,
        )
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def _status_of(words: list[str]) -> int:
    """Run the module, the code or the script; return its exit code."""
    try:
        _execute(words)
    except SystemExit as error:
        if error.code is None or isinstance(error.code, int):
            return error.code or 0
        print(error.code, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        sys.excepthook(*sys.exc_info())
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        _end_with(1)
        os.kill(os.getpid(), signal.SIGINT)
    except BaseException:  # noqa: BLE001 (the interpreter shows every one)
        sys.excepthook(*sys.exc_info())
        return 1
    return 0


def _end_with(code: int) -> int:
    """Do what the interpreter does at its end, but for the removal of all modules, which takes 0.2 s."""
    threading._shutdown()
    atexit._run_exitfuncs()
    mpi = sys.modules.get("mpi4py.MPI")
    if mpi is not None and mpi.Is_initialized() and not mpi.Is_finalized():
        mpi.Finalize()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            code = 120
    if mpi is not None:
        ctypes.CDLL(None).exit(code & 0xFF)  # MPICH leaves its launcher in a function that C calls at the end
    return code & 0xFF


def _execute(words: list[str]) -> None:
    """Run the module, the code or the script as the interpreter does."""
    _, options, words = _parsed(words)
    path = {"-m": str(Path.cwd()), "-c": ""}.get(words[0], str(Path(words[0]).resolve().parent))
    sys.path[:1] = [] if "-P" in options else [path]
    if words[0] == "-m":
        sys.argv = words[1:]
        if not hasattr(sys.modules.get(words[1]), "__path__"):
            sys.modules.pop(words[1], None)  # else it would be there twice, and `runpy` warn
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
        return
    main_module = types.ModuleType("__main__")
    sys.modules["__main__"] = main_module
    if words[0] == "-c":
        sys.argv, source, file_name = ["-c", *words[2:]], words[1], "<string>"
    else:
        sys.argv, source, file_name = words, Path(words[0]).read_text(encoding="utf-8"), words[0]
        main_module.__file__ = file_name
    exec(compile(source, file_name, "exec"), main_module.__dict__)


if __name__ == "__main__":
    main()
