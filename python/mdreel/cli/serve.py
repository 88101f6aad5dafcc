"""``mdreel serve``: channels of this node, for relays on others."""

from threading import Event
from typing import Annotated

import typer

from mdreel.cli import links, options
from mdreel.cli.exits import ExitCode, failing_with
from mdreel.cli.say import say

_LOOK_SECONDS = 0.2

EXAMPLES = """\b
Examples:
  mdreel serve run1 --listen tcp/10.0.0.1:7447 --token-file ~/.mdreel-token
  mdreel serve run1 run2 --listen tls/10.0.0.1:7447 --tls-certificate node1.pem --tls-key node1.key --tls-ca ca.pem
"""


def serve(
    channels: Annotated[list[str], typer.Argument(metavar="NAME...", help="Channels, by name or directory.")],
    listen: Annotated[
        str,
        typer.Option("--listen", metavar="ADDRESS", rich_help_panel=links.LINK, help="Where, as tcp/10.0.0.1:7447."),
    ],
    token_file: links.TokenFile = None,
    certificate: links.Certificate = None,
    key: links.Key = None,
    authority: links.Authority = None,
    all_interfaces: Annotated[
        bool,
        typer.Option("--all-interfaces", rich_help_panel=links.LINK, help="Let --listen be 0.0.0.0 or [::]."),
    ] = False,
    without_authentication: Annotated[
        bool,
        typer.Option(
            "--without-authentication",
            rich_help_panel=links.LINK,
            help="Let everybody read these channels who reaches the address.",
        ),
    ] = False,
    patience: Annotated[
        float,
        typer.Option(
            "--patience",
            metavar="SECONDS",
            min=0,
            rich_help_panel=links.LINK,
            help="Hold frames so long for a relay that is cut off, if the channel has no staging.",
        ),
    ] = 10.0,
    quiet: options.Quiet = False,
) -> None:
    """Serve channels of this node to relays on other nodes, until Ctrl-C."""
    from mdreel._core import keep_freed_memory
    from mdreel.live.nodes.server import Server

    def report(line: str) -> None:
        if not quiet:
            say(line, err=True)

    with failing_with(ExitCode.INPUT):
        security = links.security_of(token_file, certificate, key, authority)
        server = Server(
            channels,
            listen,
            security,
            all_interfaces=all_interfaces,
            without_authentication=without_authentication,
            patience=patience,
            report=report,
        )
        keep_freed_memory()
        with server:
            report(f"{', '.join(server.paths)}: served at {listen}")
            never = Event()
            while not never.wait(_LOOK_SECONDS):  # a signal may meet another thread: this one is to look for it
                server.check()
