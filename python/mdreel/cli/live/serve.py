"""The command ``mdreel serve``, which sends channels on this node to relays on other nodes."""

from threading import Event
from typing import Annotated

from mdreel.cli.errors import ExitCode, failing_with
from mdreel.cli.live import node_options
from mdreel.cli.live.ending import ended_by_one_signal
from mdreel.cli.options import shared
from mdreel.cli.options.declare import Argument, Option, command
from mdreel.cli.output import reporter

_POLL_SECONDS = 0.2

EXAMPLES = """\
Examples:
  mdreel serve run1 --listen tcp/10.0.0.1:7447 --token-file ~/.mdreel-token
  mdreel serve run1 run2 --listen tls/10.0.0.1:7447 --tls-certificate node1.pem --tls-key node1.key --tls-ca ca.pem
"""


@command(examples=EXAMPLES)
def serve(
    channels: Annotated[list[str], Argument(metavar="NAME...", help="Names or directories of channels.")],
    listen: Annotated[
        str,
        Option(
            metavar="ADDRESS", group=node_options.LINK, help="Address at which to listen, such as tcp/10.0.0.1:7447."
        ),
    ],
    token_file: node_options.TokenFile = None,
    certificate: node_options.Certificate = None,
    key: node_options.Key = None,
    authority: node_options.Authority = None,
    all_interfaces: Annotated[
        bool, Option(group=node_options.LINK, help="Allow --listen to be 0.0.0.0 or [::].")
    ] = False,
    without_authentication: Annotated[
        bool, Option(group=node_options.LINK, help="Allow anyone who can reach the address to read these channels.")
    ] = False,
    patience: Annotated[
        float,
        Option(
            metavar="SECONDS",
            minimum=0,
            group=node_options.LINK,
            help="Time during which frames are kept for a disconnected relay if the channel has no staging.",
        ),
    ] = 10.0,
    quiet: shared.Quiet = False,
) -> None:
    """Send channels on this node to relays on other nodes, until you press Ctrl-C."""
    from mdreel._core import keep_freed_memory
    from mdreel.live.nodes.security import Security
    from mdreel.live.nodes.server import Server

    report = reporter(quiet)
    with failing_with(ExitCode.INPUT):
        security = Security(token_file, certificate, key, authority)
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
        with ended_by_one_signal(), server:
            report(f"{', '.join(server.paths)}: served at {listen}")
            never = Event()
            while not never.wait(_POLL_SECONDS):  # wake up regularly, so that signals are handled
                server.check()
