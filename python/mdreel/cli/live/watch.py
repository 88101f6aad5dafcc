"""``mdreel watch``: channels and the analyses on them, as they are, on a terminal, in a pipe or in a browser."""

import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from mdreel.cli.errors import CommandError, ExitCode, failing_with
from mdreel.cli.options import shared
from mdreel.cli.options.declare import Argument, Option, command
from mdreel.cli.output import echo, echo_json

if TYPE_CHECKING:
    from mdreel.live.watch.snapshot import Seen
    from mdreel.live.watch.watcher import Watcher

    Look = Callable[[], Sequence[Seen]]

WEB = "In a browser"

EXAMPLES = """\
Examples:
  mdreel watch
  mdreel watch run1 --interval 5 >> run1.log
  mdreel watch run1 --once --json
  mdreel watch --web --port 8765
"""

_FIRST_SECONDS = 0.5
"""Between two looks, of which a rate is made, where there is only one line to print."""


@command(examples=EXAMPLES)
def watch(
    names: Annotated[
        list[str] | None,
        Argument(metavar="[NAME]...", help="Channels, by name or directory; they need not be there.  [default: all]"),
    ] = None,
    interval: Annotated[
        float,
        Option(
            "--interval",
            metavar="SECONDS",
            minimum=0.1,
            group=shared.OUTPUT,
            help="How often they are looked at.",
        ),
    ] = 1.0,
    once: Annotated[bool, Option("--once", group=shared.OUTPUT, help="Print once, and end.")] = False,
    as_json: Annotated[
        bool,
        Option("--json", group=shared.OUTPUT, help="All that is known, a line of JSON for each look."),
    ] = False,
    web: Annotated[bool, Option("--web", group=WEB, help="Show a page, at an address that is printed.")] = False,
    port: Annotated[
        int | None,
        Option("--port", metavar="N", minimum=0, maximum=65535, group=WEB, help="Where the page is.  [default: any]"),
    ] = None,
    listen: Annotated[
        str | None,
        Option(
            "--listen",
            metavar="ADDRESS",
            group=WEB,
            help="On which address of this machine; others reach all but 127.0.0.1.  [default: 127.0.0.1]",
        ),
    ] = None,
) -> None:
    """Watch channels: state, rates, consumers, and what analyses on them have found so far; until Ctrl-C."""
    from mdreel.live.watch.watcher import Watcher

    if not web and (port is not None or listen is not None):
        raise CommandError("--port, --listen: with --web only", ExitCode.USAGE)
    if web and (once or as_json):
        raise CommandError("--web: without --once and --json", ExitCode.USAGE)
    with failing_with(ExitCode.INPUT):
        watcher = Watcher(names or ())

    def look() -> "Sequence[Seen]":
        with failing_with(ExitCode.INPUT):
            return watcher.look()

    try:
        if web:
            _serve(watcher, interval, listen or "127.0.0.1", port or 0)
        elif once:
            _print_once(look, as_json)
        elif as_json or not sys.stdout.isatty():
            _print(look, interval, as_json)
        else:
            _draw(look, interval)
    except KeyboardInterrupt:
        return  # this is how one ends it


def _print_once(look: "Look", as_json: bool) -> None:
    """Print what is seen, after a moment that a rate needs."""
    if look():
        time.sleep(_FIRST_SECONDS)
    seen = look()
    if as_json:
        echo_json(_state(seen), allow_nan=False)
    elif not seen:
        echo("no channels", err=True)
    elif sys.stdout.isatty():
        from rich.console import Console

        from mdreel.live.watch.terminal import Room, view

        console = Console()
        console.print(view(seen, Room(console.width, sys.maxsize)))
    else:
        echo("\n".join(_lines(seen)))
    if seen and all(one.status is None for one in seen):
        raise CommandError(f"{', '.join(one.name for one in seen)}: no channel to look at", ExitCode.INPUT)


def _print(look: "Look", interval: float, as_json: bool) -> None:
    """Print lines for each look."""
    look()
    due = time.monotonic()
    while True:
        due = max(due + interval, time.monotonic())  # who was suspended does not catch up
        time.sleep(max(0.0, due - time.monotonic()))
        seen = look()
        if as_json:
            echo_json(_state(seen), allow_nan=False)
        else:
            for line in _lines(seen):
                echo(line)
        sys.stdout.flush()


def _lines(seen: "Sequence[Seen]") -> list[str]:
    from mdreel.live.watch.text_lines import lines

    return lines(seen, time.time())


def _state(seen: "Sequence[Seen]") -> dict[str, Any]:
    from mdreel.live.watch.snapshot_json import facts_of

    return {"time": time.time(), "channels": [facts_of(one) for one in seen]}


def _draw(look: "Look", interval: float) -> None:
    """Draw what is seen, again and again, in one place; the last of it stays."""
    from rich.console import Console
    from rich.live import Live

    from mdreel.live.watch.terminal import Room, view

    console = Console()
    with Live(console=console, auto_refresh=False, vertical_overflow="crop") as live:
        while True:
            live.update(view(look(), Room(console.width, console.height)), refresh=True)
            time.sleep(interval)


def _serve(watcher: "Watcher", interval: float, address: str, port: int) -> None:
    """Serve the page until Ctrl-C."""
    from mdreel.live.watch.server import Server

    with failing_with(ExitCode.INPUT):
        server = Server(watcher, address, port, interval)
    with failing_with(ExitCode.INPUT), server:
        echo(server.url)
        sys.stdout.flush()
        if not server.is_local:
            message = "others reach this address, and the token goes there without encryption: ssh -L is safer"
            echo(f"mdreel: warning: {message}", err=True)
        server.serve()
