"""Server that has imported NumPy, MDAnalysis and mdreel, and forks a process for each launcher that connects.

    python server.py ADDRESS

It prints a line when it listens, and ends with its standard input.
"""

import atexit
import gc
import importlib
import io
import marshal
import os
import runpy
import selectors
import signal
import socket
import sys
import threading
import types
import warnings
from contextlib import redirect_stdout, suppress

MODULES = (
    "MDAnalysis",
    "MDAnalysis.analysis.rms",
    "MDAnalysisTests.datafiles",
    "matplotlib.figure",
    "mdreel.cli.main",
    "mdreel.live",
    "mdreel.transformations",
    "rich.progress",
)
AT_START = ("LD_", "PYTHON", "MALLOC_", "GLIBC_", "FAKETIME", "OMP_", "OPENBLAS_", "MKL_", "OMPI_", "PMI_")
"""Beginnings of the names of variables that the interpreter and libraries read when they start."""


def main() -> None:
    os.setsid()  # Ctrl-C on the terminal is for the launchers
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in MODULES:
            with suppress(ModuleNotFoundError):
                importlib.import_module(name)
        with suppress(SystemExit), redirect_stdout(io.StringIO()):
            from mdreel.cli.main import app

            app(["--version"])  # what Typer imports when it runs
    gc.collect()
    gc.freeze()
    folder, words, variables, ignored = _serve(sys.argv[1])
    _become(folder, variables, ignored)
    os._exit(_end_with(_status_of(words)))


def _serve(address: str) -> tuple[str, list[str], dict[str, str], list[int]]:
    """Fork for each launcher; return the request in the new process."""
    with selectors.DefaultSelector() as selector, socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen(64)
        selector.register(listener, selectors.EVENT_READ)
        selector.register(0, selectors.EVENT_READ)
        print("listening", flush=True)
        running: dict[int, tuple[int, socket.socket]] = {}  # by the handle of the process
        while True:
            for key, _ in selector.select():
                if key.fileobj == 0:
                    os._exit(0)
                elif key.fileobj is listener:
                    launcher = listener.accept()[0]
                    request, streams = _receive(launcher)
                    if not _can_be_forked(request):
                        launcher.sendall(b"0")
                        launcher.close()
                    elif process := os.fork():
                        launcher.sendall(b"%d" % process)
                        handle = os.pidfd_open(process)
                        running[handle] = (process, launcher)
                        selector.register(handle, selectors.EVENT_READ)
                        selector.register(launcher, selectors.EVENT_READ, handle)
                    else:
                        for place, stream in enumerate(streams):
                            os.dup2(stream, place)
                        for open_file in (*streams, *running):
                            os.close(open_file)
                        for _, other in running.values():
                            other.close()
                        launcher.close()
                        return request
                    for stream in streams:
                        os.close(stream)
                elif key.fd in running:
                    process, launcher = running.pop(key.fd)
                    _, status = os.waitpid(process, 0)
                    selector.unregister(key.fd)
                    os.close(key.fd)
                    with suppress(KeyError):
                        selector.unregister(launcher)
                    with suppress(OSError):
                        launcher.sendall(b"%d" % status)
                    launcher.close()
                else:  # the launcher was killed
                    selector.unregister(key.fileobj)
                    if key.data in running:
                        os.kill(running[key.data][0], signal.SIGKILL)


def _receive(launcher: socket.socket) -> tuple[tuple[str, list[str], dict[str, str], list[int]], list[int]]:
    """Receive a request and the three streams of the process."""
    head, streams, _, _ = socket.recv_fds(launcher, 8, 3)
    size = int.from_bytes(head, "big")
    return marshal.loads(launcher.recv(size, socket.MSG_WAITALL)), streams


def _can_be_forked(request: tuple[str, list[str], dict[str, str], list[int]]) -> bool:
    """Whether the process begins as the server did: no options of the interpreter, the same variables at its start."""
    _, words, variables, _ = request
    known = len(words) > 1 if words[:1] in (["-m"], ["-c"]) else bool(words) and not words[0].startswith("-")
    return known and _at_start(variables) == _at_start(os.environ)


def _at_start(variables: dict[str, str] | os._Environ[str]) -> dict[str, str]:
    return {name: value for name, value in variables.items() if name.startswith(AT_START)}


def _become(folder: str, variables: dict[str, str], ignored: list[int]) -> None:
    """Take over the working directory, the variables, the signals and the streams of the process."""
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(variables)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)
    at_once = bool(os.environ.get("PYTHONUNBUFFERED"))
    for name, number, errors in (("stdin", 0, "strict"), ("stdout", 1, "strict"), ("stderr", 2, "backslashreplace")):
        mode = "rb" if number == 0 else "wb"
        buffering = 0 if at_once and number else -1
        stream = io.TextIOWrapper(
            open(number, mode, buffering, closefd=False),  # type: ignore[arg-type]
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
    except BaseException:
        sys.excepthook(*sys.exc_info())
        return 1
    return 0


def _end_with(code: int) -> int:
    """Do what the interpreter does at its end, but for the removal of all modules, which takes 0.2 s."""
    threading._shutdown()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            code = 120
    return code & 0xFF


def _execute(words: list[str]) -> None:
    """Run the module, the code or the script as the interpreter does."""
    gc.enable()
    if words[0] == "-m":
        sys.argv = words[1:]
        sys.path[0] = os.getcwd()
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
        return
    main_module = types.ModuleType("__main__")
    sys.modules["__main__"] = main_module
    if words[0] == "-c":
        sys.argv, sys.path[0], source, file_name = ["-c", *words[2:]], "", words[1], "<string>"
    else:
        sys.argv, sys.path[0], file_name = words, os.path.dirname(os.path.abspath(words[0])), words[0]
        main_module.__file__ = file_name
        with io.open_code(os.path.abspath(file_name)) as script:
            source = script.read().decode()
    exec(compile(source, file_name, "exec"), main_module.__dict__)


if __name__ == "__main__":
    main()
