"""Analyses of running simulations, which use the frames of a channel or a growing file."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from mdreel.cli.analyses.request import AnalysisRequest, Request
from mdreel.cli.analyses.runner import (
    PreparedAnalyses,
    check,
    environment_of_run,
    finish,
    open_files,
    prepare,
    write_outputs,
)
from mdreel.cli.errors import ExitCode, failing_with
from mdreel.cli.output import echo

if TYPE_CHECKING:
    from mdreel._core import Source

EVERY_SECONDS = 1.0
"""Default interval between two outputs of live results, in s."""


def run_on_simulation(request: Request, analyses: Sequence[AnalysisRequest]) -> None:
    """Run analyses on new frames, and write their results regularly."""
    check(request, analyses)
    prepared = prepare(request, analyses, open_input)
    every = EVERY_SECONDS if request.every is None else request.every
    with failing_with(ExitCode.INPUT):
        environment = environment_of_run(request)
        written = request
        for _ in live_results(request, prepared, every):
            write_outputs(written, prepared)
            written = replace(request, force=True)  # the files now belong to this run
    finish(request, prepared, environment)


def open_input(request: Request) -> "Source":
    """Open the channel, or the growing file."""
    if request.channel is None:
        return open_files(request)
    from mdreel.live.channels.channel import Channel

    announce_wait(request.channel, request.channel_wait or 0.0, request.quiet, new_run=request.channel_new_run)
    return Channel(
        request.channel,
        start=request.first_frame(),
        timeout=request.channel_timeout,
        wait=request.channel_wait or 0.0,
        new_run=request.channel_new_run,
        restart=request.channel_restart or 0.0,
        on_late=request.channel_on_late or "warn",
    ).source()


def announce_wait(channel: str, seconds: float, quiet: bool, *, new_run: bool = False) -> None:
    """Print for which channel or run the command waits, and which channels exist, if the command has to wait."""
    from mdreel.live.channels.directory import channel_path, describe_other_channels
    from mdreel.live.channels.status import Status

    if quiet or not (seconds > 0 or new_run):
        return
    path = channel_path(channel)
    limit = f" up to {seconds:g} s" if seconds > 0 else ""
    try:
        is_running = Status.read(path).state == "running"
        message = f"the next run of the channel {path}" if new_run and not is_running else ""
    except FileNotFoundError:
        message = f"the channel {path}, which does not exist yet{describe_other_channels(path)}"
    if message:
        echo(f"mdreel: waiting{limit} for {message}", err=True)


def live_results(request: Request, prepared: PreparedAnalyses, every: float) -> Iterator[object]:
    """Run analyses as frames arrive, and yield when there are new results, at most once every `every` seconds."""
    from mdreel.live.stream_results import stream_results

    return stream_results(
        prepared.analyses,
        request.start,
        request.stop,
        request.step,
        every=every,
        n_workers=request.n_workers or None,
        verbose=not request.quiet,
        shown=prepared.views(),
    )
