"""``mdreel relay``: a channel of another node, on this one."""

from typing import Annotated

import typer

from mdreel.cli import links, options, ring
from mdreel.cli.exits import CommandError, ExitCode, failing_with
from mdreel.cli.say import say

EXAMPLES = """\b
Examples:
  mdreel relay tcp/10.0.0.1:7447 run1 --token-file ~/.mdreel-token
  mdreel relay tls/node1:7447 run1 --as far --tls-certificate node2.pem --tls-key node2.key --tls-ca ca.pem
"""


def relay(
    endpoint: Annotated[str, typer.Argument(metavar="ADDRESS", help="Where a server listens, as tcp/10.0.0.1:7447.")],
    channel: Annotated[str, typer.Argument(metavar="NAME", help="The channel there.")],
    name: Annotated[
        str | None,
        typer.Option("--as", metavar="NAME", rich_help_panel=ring.CHANNEL, help="Its name here.  [default: the same]"),
    ] = None,
    n_slots: ring.Slots = None,
    memory: ring.Memory = "1G",
    staging: ring.StagingFolder = None,
    wait: Annotated[
        float,
        typer.Option(
            "--wait",
            metavar="SECONDS",
            min=0,
            rich_help_panel=links.LINK,
            help="The server may not be there for so long.",
        ),
    ] = 0.0,
    patience: Annotated[
        float,
        typer.Option(
            "--patience",
            metavar="SECONDS",
            min=0,
            rich_help_panel=links.LINK,
            help="After so long a silence consumers are told that the producer was lost.",
        ),
    ] = 60.0,
    token_file: links.TokenFile = None,
    certificate: links.Certificate = None,
    key: links.Key = None,
    authority: links.Authority = None,
    quiet: options.Quiet = False,
) -> None:
    """Take a channel of another node over the network once, for all consumers on this node; ends when it does."""
    from mdreel._core import keep_freed_memory
    from mdreel.live.channels.staging import Staging
    from mdreel.live.nodes.relay import Relay

    def report(line: str) -> None:
        if not quiet:
            say(line, err=True)

    with failing_with(ExitCode.INPUT):
        relay = Relay(
            endpoint,
            channel,
            name,
            links.security_of(token_file, certificate, key, authority),
            wait=wait,
            patience=patience,
            n_slots=n_slots,
            staging=None if staging is None else Staging(staging),
            memory=memory,
            report=report,
        )
        keep_freed_memory()
        how = relay.run()
    if how == "failed":
        raise CommandError(f"{channel}: the simulation has failed", ExitCode.INPUT)
