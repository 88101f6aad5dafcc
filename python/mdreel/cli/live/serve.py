"""``mdreel serve``: channels of this node, for relays on others."""

from threading import Event
from typing import Annotated

from mdreel.cli.errors import ExitCode, failing_with
from mdreel.cli.live import node_options
from mdreel.cli.options import shared
from mdreel.cli.options.declare import Argument, Option, command
from mdreel.cli.output import echo

_LOOK_SECONDS = 0.2

EXAMPLES = """\
Examples:
  mdreel serve run1 --listen tcp/10.0.0.1:7447 --token-file ~/.mdreel-token
  mdreel serve run1 run2 --listen tls/10.0.0.1:7447 --tls-certificate node1.pem --tls-key node1.key --tls-ca ca.pem
"""


@command(examples=EXAMPLES)
def serve(
    channels: Annotated[list[str], Argument(metavar="NAME...", help="Channels, by name or directory.")],
    listen: Annotated[
        str,
        Option("--listen", metavar="ADDRESS", group=node_options.LINK, help="Where, as tcp/10.0.0.1:7447."),
    ],
    token_file: node_options.TokenFile = None,
    certificate: node_options.Certificate = None,
    key: node_options.Key = None,
    authority: node_options.Authority = None,
    all_interfaces: Annotated[
        bool,
        Option("--all-interfaces", group=node_options.LINK, help="Let --listen be 0.0.0.0 or [::]."),
    ] = False,
    without_authentication: Annotated[
        bool,
        Option(
            "--without-authentication",
            group=node_options.LINK,
            help="Let everybody read these channels who reaches the address.",
        ),
    ] = False,
    patience: Annotated[
        float,
        Option(
            "--patience",
            metavar="SECONDS",
            minimum=0,
            group=node_options.LINK,
            help="Hold frames so long for a relay that is cut off, if the channel has no staging.",
        ),
    ] = 10.0,
    quiet: shared.Quiet = False,
) -> None:
    """Serve channels of this node to relays on other nodes, until Ctrl-C."""
    from mdreel._core import keep_freed_memory
    from mdreel.live.nodes.server import Server

    def report(line: str) -> None:
        if not quiet:
            echo(line, err=True)

    with failing_with(ExitCode.INPUT):
        security = node_options.security_of(token_file, certificate, key, authority)
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
