"""Parts of a task that run side by side, each as soon as the parts that it needs have passed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tasks.output import TaskError, output_into, patient, say


@dataclass(frozen=True)
class Part:
    """A step of a task.

    Attributes
    ----------
    name : str
        Its name in the summary.
    action : callable
        Performs it; raises `TaskError` when it fails.
    needs : sequence of str
        Parts that must have passed before it starts.
    after : sequence of str
        Parts that must have ended before it starts, passed or not.
    is_live : bool
        Whether its output is shown as it comes; that of other parts is shown when they end.
    is_optional : bool
        Whether the task can pass although it failed.
    is_patient : bool
        Whether its programs run with a lower priority than those of other parts.
    """

    name: str
    action: Callable[[], None]
    needs: Sequence[str] = ()
    after: Sequence[str] = ()
    is_live: bool = False
    is_optional: bool = False
    is_patient: bool = False


def perform(parts: Sequence[Part]) -> None:
    """Perform every part, also after one has failed, and say at the end how long each took and which failed."""
    began = time.monotonic()
    waiting = {part.name: part for part in parts}
    lines: dict[str, str] = {}
    failed: set[str] = set()
    shown = threading.Lock()
    with TemporaryDirectory() as folder, ThreadPoolExecutor(len(parts)) as pool:
        running: dict[Future[str | None], tuple[Part, float]] = {}
        while waiting or running:
            for part in list(waiting.values()):
                if set(part.needs) & failed:
                    lines[part.name] = f"  FAILED  {part.name} (needs {', '.join(sorted(set(part.needs) & failed))})"
                    failed.add(part.name)
                    del waiting[part.name]
                elif not {*part.needs, *part.after} & ({*waiting} | {one.name for one, _ in running.values()}):
                    log = None if part.is_live else Path(folder, str(len(lines) + len(running)) + part.name)
                    running[pool.submit(_perform_one, part, log, shown)] = part, time.monotonic()
                    del waiting[part.name]
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                part, start = running.pop(future)
                error = future.result()
                verdict = "passed" if error is None else "left out" if part.is_optional else "FAILED"
                lines[part.name] = f"  {verdict}  {part.name} ({time.monotonic() - start:.0f} s)"
                if verdict == "FAILED":
                    failed.add(part.name)
    say("\n" + "\n".join(lines[part.name] for part in parts))
    if failed:
        names = ", ".join(part.name for part in parts if part.name in failed)
        raise TaskError(f"{len(failed)} of {len(parts)} parts failed: {names}")
    say(f"{len(parts)} parts passed in {time.monotonic() - began:.0f} s")


def _perform_one(part: Part, log: Path | None, shown: threading.Lock) -> str | None:
    """Perform a part and show its output; return why it failed."""
    if log is None:
        say(f"\n== {part.name}")
        error = _error_of(part)
    else:
        with log.open("w", encoding="utf-8") as file, output_into(file):
            error = _error_of(part)
        with shown:
            say(f"\n== {part.name}\n{log.read_text(encoding='utf-8', errors='replace').rstrip()}")
    if error is not None:
        say(f"-- {part.name}: {error}")
    return error


def _error_of(part: Part) -> str | None:
    try:
        with patient() if part.is_patient else nullcontext():
            part.action()
    except TaskError as error:
        return str(error)
    return None
