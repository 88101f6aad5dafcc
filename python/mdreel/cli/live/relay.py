"""The command ``mdreel relay``, which makes a channel on another node available on this node."""

from typing import Annotated

from mdreel.cli.errors import CommandError, ExitCode, failing_with
from mdreel.cli.live import channel_options, node_options
from mdreel.cli.options import shared
from mdreel.cli.options.declare import Argument, Option, command
from mdreel.cli.output import reporter

EXAMPLES = """\
Examples:
  mdreel relay tcp/10.0.0.1:7447 run1 --token-file ~/.mdreel-token
  mdreel relay tls/node1:7447 run1 --as far --tls-certificate node2.pem --tls-key node2.key --tls-ca ca.pem
"""


@command(examples=EXAMPLES)
def relay(
    endpoint: Annotated[str, Argument(metavar="ADDRESS", help="Address of the server, such as tcp/10.0.0.1:7447.")],
    channel: Annotated[str, Argument(metavar="NAME", help="Name of the channel on the other node.")],
    name: Annotated[
        str | None,
        Option(
            "--as",
            metavar="NAME",
            group=channel_options.CHANNEL,
            help="Name of the channel on this node.  [default: the same]",
        ),
    ] = None,
    n_consumers: Annotated[
        int,
        Option(
            "--await-consumers",
            metavar="N",
            minimum=0,
            group=channel_options.CHANNEL,
            help="Number of consumers on this node to wait for before the first frame.",
        ),
    ] = 0,
    groups: channel_options.Groups = None,
    n_slots: channel_options.Slots = None,
    memory: channel_options.Memory = "1G",
    staging: channel_options.StagingFolder = None,
    wait: Annotated[
        float,
        Option(metavar="SECONDS", minimum=0, group=node_options.LINK, help="Maximum time to wait for the server."),
    ] = 0.0,
    patience: Annotated[
        float,
        Option(
            metavar="SECONDS",
            minimum=0,
            group=node_options.LINK,
            help="Time without messages from the server after which consumers are told that the producer was lost.",
        ),
    ] = 60.0,
    token_file: node_options.TokenFile = None,
    certificate: node_options.Certificate = None,
    key: node_options.Key = None,
    authority: node_options.Authority = None,
    quiet: shared.Quiet = False,
) -> None:
    """Receive a channel from another node, once for all consumers on this node, until the channel ends."""
    from mdreel._core import keep_freed_memory
    from mdreel.live.nodes.relay import Relay
    from mdreel.live.nodes.security import Security

    with failing_with(ExitCode.INPUT):
        relay = Relay(
            endpoint,
            channel,
            name,
            Security(token_file, certificate, key, authority),
            wait=wait,
            patience=patience,
            n_consumers=n_consumers,
            groups=channel_options.parse_groups(groups),
            n_slots=n_slots,
            staging=channel_options.make_staging(staging),
            memory=memory,
            report=reporter(quiet),
        )
        keep_freed_memory()
        how = relay.run()
    if how == "failed":
        raise CommandError(f"{channel}: the simulation has failed", ExitCode.INPUT)
