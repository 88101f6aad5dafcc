"""The command ``mdreel watch``, which shows channels and their analyses on a terminal or in a browser."""

import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from mdreel.cli.errors import CommandError, ExitCode, failing_with
from mdreel.cli.live.ending import ended_by_one_signal
from mdreel.cli.options import shared
from mdreel.cli.options.declare import Argument, Option, command
from mdreel.cli.output import echo, echo_json

if TYPE_CHECKING:
    from mdreel.live.watch.server import PageFeatures
    from mdreel.live.watch.snapshot import ChannelSnapshot
    from mdreel.live.watch.watcher import Watcher

    Look = Callable[[], Sequence[ChannelSnapshot]]

WEB = "In a browser"

EXAMPLES = """\
Examples:
  mdreel watch
  mdreel watch run1 --interval 5 >> run1.log
  mdreel watch run1 --once --json
  mdreel watch --web --port 8765
  mdreel watch run1 --web --operate -s md.psf --alert "rmsd>6"
"""

_FIRST_SECONDS = 0.5
"""Interval, in s, between the two snapshots that ``--once`` uses to compute rates."""


@command(examples=EXAMPLES)
def watch(
    names: Annotated[
        list[str] | None,
        Argument(metavar="[NAME]...", help="Names or directories of channels, which can be missing.  [default: all]"),
    ] = None,
    interval: Annotated[
        float, Option(metavar="SECONDS", minimum=0.1, group=shared.OUTPUT, help="Time between two updates.")
    ] = 1.0,
    once: Annotated[bool, Option(group=shared.OUTPUT, help="Print once and exit.")] = False,
    as_json: Annotated[
        bool, Option("--json", group=shared.OUTPUT, help="Print the full state as one line of JSON per update.")
    ] = False,
    web: Annotated[bool, Option(group=WEB, help="Serve a web page and print its address.")] = False,
    port: Annotated[
        int | None,
        Option(metavar="N", minimum=0, maximum=65535, group=WEB, help="Port of the page.  [default: any free port]"),
    ] = None,
    listen: Annotated[
        str | None,
        Option(
            metavar="ADDRESS",
            group=WEB,
            help="Address of this machine at which to listen. Other machines can reach any address except 127.0.0.1.  "
            "[default: 127.0.0.1]",
        ),
    ] = None,
    topology: Annotated[
        Path | None,
        Option(
            *("-s", "--topology"),
            metavar="FILE",
            group=WEB,
            help="Topology of the channels, for the 3-D view and for analyses that operators add.",
        ),
    ] = None,
    index: Annotated[
        Path | None,
        Option(
            *("-n", "--index"), metavar="FILE", group=WEB, help="GROMACS index file, whose groups selections can use."
        ),
    ] = None,
    view: Annotated[
        str | None,
        Option(
            metavar="SELECTION",
            group=WEB,
            help="Atoms of the 3-D view.  [default: all but water and ions, or all atoms of small systems]",
        ),
    ] = None,
    operate: Annotated[
        bool,
        Option(
            group=WEB,
            help="Also print an address for operators, who can add, change, pause and remove analyses and alerts.",
        ),
    ] = False,
    alert: Annotated[
        list[str] | None,
        Option(
            metavar="CONDITION",
            group=WEB,
            help="Raise an alert when a live result crosses a limit, as in 'rmsd>6' or 'RMSD:rmsd<2'. Can be repeated.",
        ),
    ] = None,
    on_alert: Annotated[
        str | None,
        Option(
            metavar="COMMAND",
            group=WEB,
            help="Command that is run for each alert, without a shell. MDREEL_ALERT, MDREEL_CHANNEL, MDREEL_VALUE and "
            "other environment variables describe the alert.",
        ),
    ] = None,
) -> None:
    """Show the states, rates and consumers of channels, and the latest results of their analyses, until Ctrl-C."""
    from mdreel.live.watch.watcher import Watcher

    of_page = {
        "--port": port,
        "--listen": listen,
        "--topology": topology,
        "--index": index,
        "--view": view,
        "--operate": operate or None,
        "--alert": alert,
        "--on-alert": on_alert,
    }
    given = [name for name, value in of_page.items() if value is not None]
    if given and not web:
        raise CommandError(f"{given[0]} requires --web", ExitCode.USAGE)
    if (index is not None or view is not None) and topology is None:
        raise CommandError(f"{'--view' if index is None else '--index'} requires --topology", ExitCode.USAGE)
    if web and (once or as_json):
        raise CommandError("--web cannot be used with --once or --json", ExitCode.USAGE)
    with failing_with(ExitCode.INPUT):
        watcher = Watcher(names or ())

    def look() -> "Sequence[ChannelSnapshot]":
        with failing_with(ExitCode.INPUT):
            return watcher.take_snapshots()

    if once:
        _print_once(look, as_json)
        return
    features = _page_features((topology, index, view), operate, alert or [], on_alert) if web else None
    with suppress(KeyboardInterrupt), ended_by_one_signal():  # Ctrl-C is the regular way to end the command
        if features is not None:
            _serve(watcher, interval, listen or "127.0.0.1", port or 0, features)
        elif as_json or not sys.stdout.isatty():
            _print(look, interval, as_json)
        else:
            _draw(look, interval)


def _print_once(look: "Look", as_json: bool) -> None:
    """Print a single snapshot, after the interval that is needed to compute rates."""
    if look():
        time.sleep(_FIRST_SECONDS)
    seen = look()
    if as_json:
        echo_json(_state(seen), allow_nan=False)
    elif not seen:
        echo("no channels", err=True)
    elif sys.stdout.isatty():
        from rich.console import Console

        from mdreel.live.watch.terminal import DisplaySize, render

        console = Console()
        console.print(render(seen, DisplaySize(console.width, sys.maxsize)))
    else:
        echo("\n".join(_lines(seen)))
    if seen and all(one.status is None for one in seen):
        raise CommandError(
            f"{', '.join(one.name for one in seen)}: the channel does not exist or cannot be read", ExitCode.INPUT
        )


def _print(look: "Look", interval: float, as_json: bool) -> None:
    """Print lines for each update."""
    look()
    due = time.monotonic()
    while True:
        due = max(due + interval, time.monotonic())  # do not catch up after a suspension
        time.sleep(max(0.0, due - time.monotonic()))
        seen = look()
        if as_json:
            echo_json(_state(seen), allow_nan=False)
        else:
            for line in _lines(seen):
                echo(line)
        sys.stdout.flush()


def _lines(seen: "Sequence[ChannelSnapshot]") -> list[str]:
    from mdreel.live.watch.text_lines import lines

    return lines(seen, time.time())


def _state(seen: "Sequence[ChannelSnapshot]") -> dict[str, Any]:
    from mdreel.live.watch.snapshot_json import to_json

    return {"time": time.time(), "channels": [to_json(one) for one in seen]}


def _draw(look: "Look", interval: float) -> None:
    """Redraw the snapshot in place. The last snapshot remains on the screen."""
    from rich.console import Console
    from rich.live import Live

    from mdreel.live.watch.terminal import DisplaySize, render

    console = Console()
    with Live(console=console, auto_refresh=False, vertical_overflow="crop") as live:
        while True:
            live.update(render(look(), DisplaySize(console.width, console.height)), refresh=True)
            time.sleep(interval)


def _page_features(
    system: tuple[Path | None, Path | None, str | None], operate: bool, conditions: Sequence[str], command: str | None
) -> "PageFeatures":
    """Return what the page offers besides the snapshots. `system` is the topology, the index and the atoms to draw."""
    from mdreel.live.watch.alert_command import AlertCommand
    from mdreel.live.watch.alerts import Alerts, Threshold
    from mdreel.live.watch.managed_analyses import AnalysisTypes, ManagedAnalyses
    from mdreel.live.watch.server import PageFeatures

    with failing_with(ExitCode.INPUT):
        thresholds = [Threshold.parse(one) for one in conditions]
        if command is None:
            alerts = Alerts(thresholds)
        else:
            run = AlertCommand(command, lambda message: echo(f"mdreel: warning: {message}", err=True))
            alerts = Alerts(thresholds, run.submit)
    analyses = molecule = None
    topology, index, view = system
    for path in (topology, index):
        if path is not None and not path.is_file():
            raise CommandError(f"{path}: No such file or directory", ExitCode.INPUT)
    if topology is not None:
        from mdreel.live.watch.molecule import Molecule

        molecule = Molecule(topology.absolute(), None if index is None else index.absolute(), view)
    if topology is not None and operate:
        from mdreel.cli.live.page_analyses import PROGRAM, check_settings, page_schema

        task = {"topology": str(topology.absolute()), "index": None if index is None else str(index.absolute())}
        analyses = ManagedAnalyses(AnalysisTypes(page_schema(), check_settings, PROGRAM, task))
    return PageFeatures(operate, analyses, alerts, molecule)


def _serve(watcher: "Watcher", interval: float, address: str, port: int, features: "PageFeatures") -> None:
    """Serve the page until the user presses Ctrl-C."""
    from mdreel.live.channels.core_without_arrays import return_freed_memory
    from mdreel.live.watch.server import WatchServer

    return_freed_memory()
    with failing_with(ExitCode.INPUT):
        server = WatchServer(watcher, address, port, interval, features)
    with failing_with(ExitCode.INPUT), server:
        if server.operator_url is None:
            echo(server.url)
        else:
            echo(f"{server.url} (viewer)\n{server.operator_url} (operator)")
        sys.stdout.flush()
        if not server.is_local:
            message = "other machines can reach this address, and the token is sent unencrypted; ssh -L is safer"
            echo(f"mdreel: warning: {message}", err=True)
        server.serve()
