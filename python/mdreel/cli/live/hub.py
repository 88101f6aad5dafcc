"""``mdreel hub``: any number of clients of IMD for one engine, or for any channel."""

from pathlib import Path
from typing import Annotated

from mdreel.cli.errors import CommandError, ExitCode, failing_with
from mdreel.cli.live import channel_options
from mdreel.cli.options import shared
from mdreel.cli.options.declare import Argument, Option, command
from mdreel.cli.output import echo
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
            help="Where an engine listens. Without, the channel is one that is there.",
        ),
    ] = None,
    listen: Annotated[
        str, Option("--listen", metavar="HOST:PORT", group=CLIENTS, help="Where clients come.")
    ] = "127.0.0.1:8889",
    topology: Annotated[
        Path | None,
        Option(
            "-s",
            "--topology",
            metavar="FILE",
            group=ENGINE,
            help="Topology of what it sends: another number of atoms is refused.",
        ),
    ] = None,
    n_frames: Annotated[
        int | None,
        Option(
            "--frames",
            metavar="N",
            minimum=1,
            group=ENGINE,
            help="How many frames it is to send: with another number the channel ends as failed.",
        ),
    ] = None,
    rate: Annotated[
        int | None,
        Option("--rate", metavar="N", minimum=1, group=ENGINE, help="Ask it for a frame each N steps."),
    ] = None,
    time_step: Annotated[
        float | None,
        Option(
            "--time-step",
            metavar="PS",
            group=ENGINE,
            help="Time between two steps, where it sends no times (version 2).",
        ),
    ] = None,
    stride: Annotated[
        int | None,
        Option(
            "--stride",
            metavar="N",
            minimum=1,
            group=ENGINE,
            help="Steps between two frames, where it sends no steps (version 2 without energies).",
        ),
    ] = None,
    dialect: Annotated[
        DialectName,
        Option(
            "--dialect",
            group=ENGINE,
            help="How it sends numbers: as IMD says; as GROMACS; with kcal; as LAMMPS in metal or real units.",
        ),
    ] = "imd",
    engine_token_file: Annotated[
        Path | None,
        Option(
            "--engine-token-file",
            metavar="FILE",
            group=ENGINE,
            help="A token to be shown to it: it is another hub then.",
        ),
    ] = None,
    wait: Annotated[
        float,
        Option(
            "--wait",
            metavar="SECONDS",
            minimum=0,
            group=ENGINE,
            help="It, or the channel that it is without, may not be there for so long.",
        ),
    ] = 0.0,
    n_consumers: channel_options.Consumers = 0,
    n_slots: channel_options.Slots = None,
    full: channel_options.Full = "block",
    memory: channel_options.Memory = "1G",
    staging: channel_options.StagingFolder = None,
    resume: Annotated[
        bool,
        Option("--resume", group=channel_options.CHANNEL, help="Go on with a channel whose hub has died."),
    ] = False,
    restart: Annotated[
        float,
        Option(
            "--restart",
            metavar="SECONDS",
            minimum=0,
            group=channel_options.CHANNEL,
            help="Without an engine: a producer that was lost may be away for so long.",
        ),
    ] = 0.0,
    version: Annotated[
        int,
        Option("--imd-version", metavar="2|3", minimum=2, maximum=3, group=CLIENTS, help="Of IMD: VMD wants 2."),
    ] = 3,
    start: Annotated[
        FirstFrame, Option("--start", group=CLIENTS, help="The first frame that a client gets.")
    ] = "earliest",
    allow: Annotated[
        list[str] | None,
        Option(
            "--allow",
            metavar="HOST",
            group=CLIENTS,
            help="A host, or a network as 10.0.0.0/24, whose users may connect.  [default: this user, on this machine]",
        ),
    ] = None,
    token_file: Annotated[
        Path | None,
        Option(
            "--token-file",
            metavar="FILE",
            group=CLIENTS,
            help="A secret of 16 characters or more that clients must show, which only other hubs can.",
        ),
    ] = None,
    all_interfaces: Annotated[
        bool,
        Option("--all-interfaces", group=CLIENTS, help="Let --listen be 0.0.0.0 or [::]."),
    ] = False,
    pass_on: Annotated[
        list[ForwardedCommand] | None,
        Option("--pass-on", group=CLIENTS, help="Have the engine pause or end when a client asks for that."),
    ] = None,
    client_memory: Annotated[
        str,
        Option(
            "--client-memory",
            metavar="BYTES",
            group=CLIENTS,
            help="How much waits for each client that is slow or pauses, before it loses the oldest frames.",
        ),
    ] = "64M",
    patience: Annotated[
        float,
        Option(
            "--patience",
            metavar="SECONDS",
            minimum=0,
            group=CLIENTS,
            help="How long they may take for what is left when the channel has ended.",
        ),
    ] = 60.0,
    linger: Annotated[
        float,
        Option("--linger", metavar="SECONDS", minimum=0, group=CLIENTS, help="For how long they may come then."),
    ] = 0.0,
    quiet: shared.Quiet = False,
) -> None:
    """Be the only client of an engine that speaks IMD, and serve its frames, or any channel, to many clients."""
    of_engine = {
        "--topology": topology,
        "--frames": n_frames,
        "--rate": rate,
        "--time-step": time_step,
        "--stride": stride,
        "--engine-token-file": engine_token_file,
        "--consumers": n_consumers,
        "--slots": n_slots,
        "--staging": staging,
        "--resume": resume,
        "--pass-on": pass_on,
    }
    if engine is None:
        for name, value in of_engine.items():
            if value:
                raise CommandError(f"{name}: with an engine only", ExitCode.USAGE)
    elif restart:
        raise CommandError("--restart: without an engine only", ExitCode.USAGE)

    from mdreel._core import keep_freed_memory
    from mdreel.live.channels.staging import Staging
    from mdreel.live.engines.imd.feed import Engine
    from mdreel.live.engines.imd.hub import Hub

    def report(line: str) -> None:
        if not quiet:
            echo(line, err=True)

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
            staging=None if staging is None else Staging(staging),
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
            passes_on=pass_on or (),
            memory=client_memory,
            patience=patience,
            linger=linger,
            report=report,
        )
        keep_freed_memory()
        with made:
            report(f"{channel}: clients of version {version} of IMD are served at {made.address}")
            how = made.wait()
    if how in ("failed", "lost"):
        message = "the simulation has failed" if how == "failed" else "the producer was lost"
        raise CommandError(f"{channel}: {message}", ExitCode.INPUT)


def _n_atoms(topology: Path) -> int:
    """Return how many atoms a topology has."""
    from mdreel.analysis.topology.topology_file import open_topology

    return len(open_topology(topology).atoms)
