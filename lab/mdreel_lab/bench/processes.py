"""Fresh processes, each for one measurement."""

import os
import re
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

_LAST_WORDS_SECONDS = 10.0
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")


class ProcessError(RuntimeError):
    """A process that failed, or took too long."""


def child_environment(cache: Path, n_threads: int = 1, variables: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment of a process: a number of threads for libraries, and an index cache of the benchmark."""
    own = {"MDREEL_CACHE_DIR": str(cache.resolve()), "PYTHONWARNINGS": "ignore"}
    return {**os.environ, **own, **dict.fromkeys(_THREADS, str(n_threads)), **(variables or {})}


def run_process(
    command: Sequence[str],
    environment: Mapping[str, str],
    limit: float,
    *,
    cores: Sequence[int] | None = None,
) -> str:
    """Run a process and return its standard output; end the process if this one is interrupted.

    Its time limit is ``limit`` seconds, and it runs on ``cores``. Raise a `ProcessError` if it fails or takes too long.
    """

    def hold() -> None:
        if cores is not None:
            os.sched_setaffinity(0, cores)

    with (
        tempfile.TemporaryFile() as errors,
        subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            preexec_fn=hold,  # noqa: PLW1509 - no threads of ours hold locks
        ) as process,
    ):
        try:
            printed, _ = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            end(process)
            raise ProcessError(f"it took more than {limit:,.0f} s") from None
        except BaseException:
            end(process)
            raise
        errors.seek(0)
        output = printed.decode(errors="replace")
        if process.returncode:
            last = last_line(output + errors.read().decode(errors="replace"))
            raise ProcessError(f"exit code {process.returncode}: {last}")
    return output


def end(process: "subprocess.Popen[Any]") -> None:
    """End a process and those that it has started: a launcher passes the signal on."""
    process.terminate()  # does nothing to one that has ended
    try:
        process.wait(_LAST_WORDS_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def last_line(output: str) -> str:
    """Return the last line that names an error, of the output of one or more ranks; or else the last line.

    Lines of Open MPI about messages that it did not repeat name no error, and are skipped.
    """
    about_repeats = ("sent help message", "orte_base_help_aggregate")
    lines = [line.strip() for line in output.splitlines() if any(map(str.isalpha, line))]
    lines = [line for line in lines if not any(words in line for words in about_repeats)]
    errors = [line for line in lines if re.match(r"[\w.]*(Error|Exception)\b", line)]
    return (errors or lines or ["it said nothing"])[-1]


@contextmanager
def repeated(action: Callable[[], object], interval: float) -> Iterator[None]:
    """Repeat an action on a thread, with an interval between two, s."""
    done = threading.Event()

    def repeat() -> None:
        while True:
            action()
            if done.wait(interval):
                return

    thread = threading.Thread(target=repeat)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def processes_by_parent() -> dict[str, list[str]]:
    """Return the identifiers of all processes, by that of their parent."""
    found: dict[str, list[str]] = {}
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it may have ended
            parent = (path / "stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[1]
            found.setdefault(parent, []).append(path.name)
    return found
