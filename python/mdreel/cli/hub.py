"""``mdreel hub``: any number of clients of IMD for one engine, or for any channel."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from mdreel.cli import options, ring
from mdreel.cli.exits import CommandError, ExitCode, failing_with
from mdreel.cli.say import say

EXAMPLES = """\b
Examples:
  mdreel hub 127.0.0.1:8888 --channel run1 --dialect metal --wait 60
  mdreel hub 127.0.0.1:8888 --channel run1 -s md.tpr --dialect gromacs --time-step 0.002
  mdreel hub --channel run1 --listen 127.0.0.1:8889
"""

ENGINE = "The engine"
CLIENTS = "Clients"


class Beginning(StrEnum):
    """The first frame that a client gets."""

    EARLIEST = "earliest"
    LATEST = "latest"


class Dialect(StrEnum):
    """How an engine sends numbers."""

    IMD = "imd"
    GROMACS = "gromacs"
    KCAL = "kcal"
    METAL = "metal"
    REAL = "real"


class PassedOn(StrEnum):
    """What is passed on to the engine."""

    PAUSE = "pause"
    KILL = "kill"


def hub(
    channel: ring.Name,
    engine: Annotated[
        str | None,
        typer.Argument(
            metavar="HOST:PORT",
            show_default=False,
            help="Where an engine listens. Without, the channel is one that is there.",
        ),
    ] = None,
    listen: Annotated[
        str, typer.Option("--listen", metavar="HOST:PORT", rich_help_panel=CLIENTS, help="Where clients come.")
    ] = "127.0.0.1:8889",
    topology: Annotated[
        Path | None,
        typer.Option(
            "-s",
            "--topology",
            metavar="FILE",
            rich_help_panel=ENGINE,
            help="Topology of what it sends: another number of atoms is refused.",
        ),
    ] = None,
    n_frames: Annotated[
        int | None,
        typer.Option(
            "--frames",
            metavar="N",
            min=1,
            rich_help_panel=ENGINE,
            help="How many frames it is to send: with another number the channel ends as failed.",
        ),
    ] = None,
    rate: Annotated[
        int | None,
        typer.Option("--rate", metavar="N", min=1, rich_help_panel=ENGINE, help="Ask it for a frame each N steps."),
    ] = None,
    time_step: Annotated[
        float | None,
        typer.Option(
            "--time-step",
            metavar="PS",
            rich_help_panel=ENGINE,
            help="Time between two steps, where it sends no times (version 2).",
        ),
    ] = None,
    stride: Annotated[
        int | None,
        typer.Option(
            "--stride",
            metavar="N",
            min=1,
            rich_help_panel=ENGINE,
            help="Steps between two frames, where it sends no steps (version 2 without energies).",
        ),
    ] = None,
    dialect: Annotated[
        Dialect,
        typer.Option(
            "--dialect",
            rich_help_panel=ENGINE,
            help="How it sends numbers: as IMD says; as GROMACS; with kcal; as LAMMPS in metal or real units.",
        ),
    ] = Dialect.IMD,
    engine_token_file: Annotated[
        Path | None,
        typer.Option(
            "--engine-token-file",
            metavar="FILE",
            rich_help_panel=ENGINE,
            help="A token to be shown to it: it is another hub then.",
        ),
    ] = None,
    wait: Annotated[
        float,
        typer.Option(
            "--wait",
            metavar="SECONDS",
            min=0,
            rich_help_panel=ENGINE,
            help="It, or the channel that it is without, may not be there for so long.",
        ),
    ] = 0.0,
    n_consumers: ring.Consumers = 0,
    n_slots: ring.Slots = None,
    full: ring.FullOption = ring.Full.BLOCK,
    memory: ring.Memory = "1G",
    staging: ring.StagingFolder = None,
    resume: Annotated[
        bool,
        typer.Option("--resume", rich_help_panel=ring.CHANNEL, help="Go on with a channel whose hub has died."),
    ] = False,
    restart: Annotated[
        float,
        typer.Option(
            "--restart",
            metavar="SECONDS",
            min=0,
            rich_help_panel=ring.CHANNEL,
            help="Without an engine: a producer that was lost may be away for so long.",
        ),
    ] = 0.0,
    version: Annotated[
        int,
        typer.Option(
            "--imd-version", metavar="2|3", min=2, max=3, rich_help_panel=CLIENTS, help="Of IMD: VMD wants 2."
        ),
    ] = 3,
    start: Annotated[
        Beginning, typer.Option("--start", rich_help_panel=CLIENTS, help="The first frame that a client gets.")
    ] = Beginning.EARLIEST,
    allow: Annotated[
        list[str] | None,
        typer.Option(
            "--allow",
            metavar="HOST",
            rich_help_panel=CLIENTS,
            help="A host, or a network as 10.0.0.0/24, whose users may connect.  [default: this user, on this machine]",
        ),
    ] = None,
    token_file: Annotated[
        Path | None,
        typer.Option(
            "--token-file",
            metavar="FILE",
            rich_help_panel=CLIENTS,
            help="A secret of 16 characters or more that clients must show, which only other hubs can.",
        ),
    ] = None,
    all_interfaces: Annotated[
        bool,
        typer.Option("--all-interfaces", rich_help_panel=CLIENTS, help="Let --listen be 0.0.0.0 or [::]."),
    ] = False,
    pass_on: Annotated[
        list[PassedOn] | None,
        typer.Option(
            "--pass-on", rich_help_panel=CLIENTS, help="Have the engine pause or end when a client asks for that."
        ),
    ] = None,
    client_memory: Annotated[
        str,
        typer.Option(
            "--client-memory",
            metavar="BYTES",
            rich_help_panel=CLIENTS,
            help="How much waits for each client that is slow or pauses, before it loses the oldest frames.",
        ),
    ] = "64M",
    patience: Annotated[
        float,
        typer.Option(
            "--patience",
            metavar="SECONDS",
            min=0,
            rich_help_panel=CLIENTS,
            help="How long they may take for what is left when the channel has ended.",
        ),
    ] = 60.0,
    linger: Annotated[
        float,
        typer.Option(
            "--linger", metavar="SECONDS", min=0, rich_help_panel=CLIENTS, help="For how long they may come then."
        ),
    ] = 0.0,
    quiet: options.Quiet = False,
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
            say(line, err=True)

    with failing_with(ExitCode.INPUT):
        feeds = engine and Engine(
            engine,
            wait=wait,
            n_atoms=None if topology is None else _n_atoms(topology),
            n_frames=n_frames,
            rate=rate,
            time_step=time_step,
            stride=stride,
            dialect=dialect.value,
            token_file=engine_token_file,
            n_consumers=n_consumers,
            n_slots=n_slots,
            full=full.value,
            staging=None if staging is None else Staging(staging),
            memory=memory,
            resumes=resume,
        )
        made = Hub(
            channel,
            listen,
            feeds or None,
            version=version,
            start=start.value,
            wait=wait,
            restart=restart,
            allow=allow or (),
            token_file=token_file,
            all_interfaces=all_interfaces,
            passes_on=[each.value for each in pass_on or ()],
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
    from mdreel.cli.system import open_topology

    return len(open_topology(topology).atoms)
