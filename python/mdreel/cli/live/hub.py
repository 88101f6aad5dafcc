"""The command ``mdreel hub``, which sends the frames of an engine or a channel to many IMD clients."""

from pathlib import Path
from typing import Annotated

from mdreel.cli.errors import CommandError, ExitCode, failing_with
from mdreel.cli.live import channel_options
from mdreel.cli.options import shared
from mdreel.cli.options.declare import Argument, Option, command
from mdreel.cli.output import reporter
from mdreel.live.choices import DialectName, FirstFrame, ForwardedCommand

EXAMPLES = """\
Examples:
  mdreel hub 127.0.0.1:8888 --channel run1 --dialect metal --wait 60
  mdreel hub 127.0.0.1:8888 --channel run1 -s md.tpr --dialect gromacs --time-step 0.002
  mdreel hub --channel run1 --listen 127.0.0.1:8889
"""

ENGINE = "The engine"
CLIENTS = "Clients"


@command(examples=EXAMPLES)
def hub(
    channel: channel_options.Name,
    engine: Annotated[
        str | None,
        Argument(
            metavar="HOST:PORT",
            help="Address at which the engine listens. By default, the hub serves an existing channel.",
        ),
    ] = None,
    listen: Annotated[
        str, Option(metavar="HOST:PORT", group=CLIENTS, help="Address at which the hub listens for clients.")
    ] = "127.0.0.1:8889",
    topology: Annotated[
        Path | None,
        Option(
            "-s",
            "--topology",
            metavar="FILE",
            group=ENGINE,
            help="Topology of the simulation. The engine must send the same number of atoms.",
        ),
    ] = None,
    n_frames: Annotated[
        int | None,
        Option(
            "--frames",
            metavar="N",
            minimum=1,
            group=ENGINE,
            help="Number of frames that the engine must send. Otherwise, the channel ends as failed.",
        ),
    ] = None,
    rate: Annotated[
        int | None, Option(metavar="N", minimum=1, group=ENGINE, help="Request a frame every N steps.")
    ] = None,
    time_step: Annotated[
        float | None,
        Option(
            metavar="PS", group=ENGINE, help="Time between two steps, if the engine does not send times (version 2)."
        ),
    ] = None,
    stride: Annotated[
        int | None,
        Option(
            metavar="N",
            minimum=1,
            group=ENGINE,
            help="Publish a frame every N steps, and skip the frames between them. If the engine does not send steps "
            "(version 2 without energies), N is the number of steps between its frames.",
        ),
    ] = None,
    dialect: Annotated[
        DialectName,
        Option(
            group=ENGINE,
            help="Units of the engine: IMD version 3, GROMACS, kcal/mol, or LAMMPS with metal or real units.",
        ),
    ] = "imd",
    engine_token_file: Annotated[
        Path | None,
        Option(
            metavar="FILE", group=ENGINE, help="File that contains the token to send, if the engine is another hub."
        ),
    ] = None,
    wait: Annotated[
        float,
        Option(metavar="SECONDS", minimum=0, group=ENGINE, help="Maximum time to wait for the engine or the channel."),
    ] = 0.0,
    n_consumers: channel_options.Consumers = 0,
    n_slots: channel_options.Slots = None,
    full: channel_options.Full = "block",
    memory: channel_options.Memory = "1G",
    groups: channel_options.Groups = None,
    staging: channel_options.StagingFolder = None,
    resume: Annotated[
        bool, Option(group=channel_options.CHANNEL, help="Continue a channel whose hub has died.")
    ] = False,
    restart: Annotated[
        float,
        Option(
            metavar="SECONDS",
            minimum=0,
            group=channel_options.CHANNEL,
            help="Without an engine: maximum time to wait for a lost producer to restart.",
        ),
    ] = 0.0,
    version: Annotated[
        int,
        Option(
            "--imd-version", metavar="2|3", minimum=2, maximum=3, group=CLIENTS, help="IMD version. VMD requires 2."
        ),
    ] = 3,
    start: Annotated[FirstFrame, Option(group=CLIENTS, help="First frame that a client receives.")] = "earliest",
    allow: Annotated[
        list[str] | None,
        Option(
            metavar="HOST",
            group=CLIENTS,
            help="Host, or network such as 10.0.0.0/24, from which users can connect. Can be repeated.  "
            "[default: only this user, from this machine]",
        ),
    ] = None,
    token_file: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            group=CLIENTS,
            help="File with a token of at least 16 characters that clients must send. Only other hubs support tokens.",
        ),
    ] = None,
    all_interfaces: Annotated[bool, Option(group=CLIENTS, help="Allow --listen to be 0.0.0.0 or [::].")] = False,
    pass_on: Annotated[
        list[ForwardedCommand] | None,
        Option(group=CLIENTS, help="Forward this command from clients to the engine. Can be repeated."),
    ] = None,
    client_memory: Annotated[
        str,
        Option(
            metavar="BYTES",
            group=CLIENTS,
            help="Queue size for each slow or paused client. If the queue is full, the oldest frames are dropped.",
        ),
    ] = "64M",
    patience: Annotated[
        float,
        Option(
            metavar="SECONDS",
            minimum=0,
            group=CLIENTS,
            help="Maximum time for clients to receive the remaining frames after the channel has ended.",
        ),
    ] = 60.0,
    linger: Annotated[
        float,
        Option(
            metavar="SECONDS",
            minimum=0,
            group=CLIENTS,
            help="Time after the end of the channel during which new clients can connect.",
        ),
    ] = 0.0,
    quiet: shared.Quiet = False,
) -> None:
    """Send the frames of an engine, or of an existing channel, to many IMD clients."""
    of_engine = {
        "--topology": topology,
        "--frames": n_frames,
        "--rate": rate,
        "--time-step": time_step,
        "--stride": stride,
        "--engine-token-file": engine_token_file,
        "--consumers": n_consumers,
        "--slots": n_slots,
        "--group": groups,
        "--staging": staging,
        "--resume": resume,
        "--pass-on": pass_on,
    }
    if engine is None:
        for name, value in of_engine.items():
            if value:
                raise CommandError(f"{name} requires an engine", ExitCode.USAGE)
    elif restart:
        raise CommandError("--restart cannot be used with an engine", ExitCode.USAGE)

    from mdreel._core import keep_freed_memory
    from mdreel.cli.live.running_input import announce_wait
    from mdreel.live.engines.imd.feed import Engine
    from mdreel.live.engines.imd.hub import Hub

    report = reporter(quiet)
    if engine is None:
        announce_wait(channel, wait, quiet)
    with failing_with(ExitCode.INPUT):
        feeds = engine and Engine(
            engine,
            wait=wait,
            n_atoms=None if topology is None else _n_atoms(topology),
            n_frames=n_frames,
            rate=rate,
            time_step=time_step,
            stride=stride,
            dialect=dialect,
            token_file=engine_token_file,
            n_consumers=n_consumers,
            n_slots=n_slots,
            full=full,
            groups=channel_options.parse_groups(groups),
            staging=channel_options.make_staging(staging),
            memory=memory,
            resumes=resume,
        )
        made = Hub(
            channel,
            listen,
            feeds or None,
            version=version,
            start=start,
            wait=wait,
            restart=restart,
            allow=allow or (),
            token_file=token_file,
            all_interfaces=all_interfaces,
            forwards=pass_on or (),
            memory=client_memory,
            patience=patience,
            linger=linger,
            report=report,
        )
        keep_freed_memory()
        with made:
            report(f"{channel}: serving clients of IMD version {version} at {made.address}")
            how = made.wait()
    if how in ("failed", "lost"):
        message = "the simulation has failed" if how == "failed" else "the producer was lost"
        raise CommandError(f"{channel}: {message}", ExitCode.INPUT)


def _n_atoms(topology: Path) -> int:
    """Return the number of atoms in a topology."""
    from mdreel.analysis.topology.topology_file import open_topology

    return len(open_topology(topology).atoms)
