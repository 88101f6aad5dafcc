"""Analyses of running simulations, over the frames of a channel or of a growing file."""

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

if TYPE_CHECKING:
    from mdreel._core import Source

EVERY_SECONDS = 1.0
"""Default interval between two outputs of live results."""


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
    """Open the channel, or the file that grows."""
    if request.channel is None:
        return open_files(request)
    from mdreel.live.channels.channel import Channel

    wait, restart = request.channel_wait or 0.0, request.channel_restart or 0.0
    first, timeout = request.first_frame(), request.channel_timeout
    return Channel(request.channel, start=first, timeout=timeout, wait=wait, restart=restart).source()


def live_results(request: Request, prepared: PreparedAnalyses, every: float) -> Iterator[object]:
    """Run analyses over frames as they come; yield when they have new results, at most once in `every` seconds."""
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
