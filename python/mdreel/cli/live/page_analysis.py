"""Program that runs an analysis for the page of ``mdreel watch``.

It reads its task and then instructions from standard input as JSON lines, and reports its state on standard output. It
ends when its input is closed, so that no analysis outlives the page.
"""

import json
import os
import sys
import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from time import sleep
from typing import TYPE_CHECKING, Any, TextIO

from mdreel.cli.analyses.runner import PreparedAnalyses, check, prepare
from mdreel.cli.errors import CommandError, one_line
from mdreel.cli.live.page_analyses import page_requests
from mdreel.cli.live.running_input import open_input
from mdreel.errors import MdreelError

if TYPE_CHECKING:
    from mdreel.live.incremental_run import IncrementalRun

_ROUND_SECONDS = 0.2
"""Maximum time to wait for a frame before instructions are read, in s."""

_END_SECONDS = 8.0
"""Time after which the process ends even if the analysis is busy, in s."""

_Instructions = SimpleQueue[dict[str, Any] | None]


def main() -> None:
    """Run the analysis that is described in the first line of standard input."""
    report_to = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # nothing else may be printed among the reports
    warnings.simplefilter("ignore")
    task = json.loads(sys.stdin.buffer.readline())
    instructions: _Instructions = SimpleQueue()
    Thread(target=_read_instructions, args=(instructions,), daemon=True).start()
    try:
        ended = _run(task, instructions, report_to)
    except (CommandError, MdreelError, OSError, MemoryError) as error:
        _report(report_to, state="failed", reason=one_line(error))
    except Exception as error:  # noqa: BLE001 (a bug must be seen on the page)
        _report(report_to, state="failed", reason=f"{type(error).__name__}: {one_line(error)} (a bug in mdreel)")
    else:
        _report(report_to, state=ended)
    report_to.flush()
    os._exit(0)  # a thread still reads the input


def _read_instructions(instructions: _Instructions) -> None:
    for line in sys.stdin.buffer:
        instructions.put(json.loads(line))
    instructions.put(None)
    sleep(_END_SECONDS)
    os._exit(0)  # the analysis may be waiting for its first frame


def _report(to: TextIO, **facts: Any) -> None:
    to.write(json.dumps(facts) + "\n")
    to.flush()


def _run(task: Mapping[str, Any], instructions: _Instructions, to: TextIO) -> str:
    """Run the analysis, and return how it has ended."""
    from mdreel.live.incremental_run import IncrementalRun

    index = None if task["index"] is None else Path(task["index"])
    request, analyses = page_requests(task["settings"], task["channel"], Path(task["topology"]), index)
    check(request, analyses)
    prepared = prepare(request, analyses, open_input)
    views = [replace(view, name=task["name"] or view.name) for view in prepared.views()]
    run = IncrementalRun(prepared.analyses, (None, None, None), 1, shown=views)
    is_paused = False
    with run.board:
        _report(to, state="running")
        while not run.is_over:
            while (instruction := _next(instructions)) is not _NOTHING:
                if instruction is None:
                    run.show(is_last=True)
                    run.board.end("stopped")
                    return "stopped"
                if instruction["do"] == "save":
                    _save(run, prepared, Path(instruction["path"]), to)
                else:
                    if is_paused:
                        run.skip(0.0)  # frames that were published during the pause
                    elif run.has_news:
                        run.show(is_last=True)
                    is_paused = instruction["do"] == "pause"
                    _report(to, state="paused" if is_paused else "running")
            if is_paused:
                run.skip(_ROUND_SECONDS)
            else:
                run.advance(_ROUND_SECONDS)
            if run.has_news and (run.is_over or run.board.is_due):
                run.show(is_last=run.is_over)
        run.end()
    _report(to, state="finished")
    _serve_results(run, prepared, instructions, to)
    return "finished"


_NOTHING: dict[str, Any] = {}


def _next(instructions: _Instructions) -> dict[str, Any] | None:
    try:
        return instructions.get_nowait()
    except Empty:
        return _NOTHING


def _serve_results(run: "IncrementalRun", prepared: PreparedAnalyses, instructions: _Instructions, to: TextIO) -> None:
    """Save results on demand after the end of the simulation, until the analysis is removed."""
    while (instruction := instructions.get()) is not None:
        if instruction["do"] == "save":
            _save(run, prepared, Path(instruction["path"]), to)


def _save(run: "IncrementalRun", prepared: PreparedAnalyses, path: Path, to: TextIO) -> None:
    """Write the complete results so far."""
    from mdreel.results.files import write

    try:
        if not run.is_over:  # otherwise, the notice has its last state
            run.show(is_last=True)
        (one,) = prepared.requests
        (analysis,) = prepared.analyses
        table = one.spec.tabulate(analysis)
        facts = {"title": one.spec.title, "selection": one.selection, **one.spec.facts}
        write(path, table.columns, facts, True)
    except Exception as error:  # noqa: BLE001 (there may be no table of few frames)
        _report(to, saved=False, reason=one_line(error))
    else:
        _report(to, saved=True)


if __name__ == "__main__":
    main()
