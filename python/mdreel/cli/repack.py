"""``mdreel repack``: a trajectory in H5MD, stored for the way in which it will be read."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from mdreel.cli import options
from mdreel.cli.exits import CommandError, ExitCode
from mdreel.cli.frames import check_window, frames_in_window
from mdreel.cli.writing import check_usage, failing_by_file, report, selected

EXAMPLES = """\b
Examples:
  mdreel repack -f adk.xtc -o adk.h5md --access atoms
  mdreel repack -f adk.xtc -o adk.h5md --chunk 256x64 --compression gzip --level 6
"""

STORAGE = "Storage"


class Access(StrEnum):
    """What will be read."""

    FRAMES = "frames"
    ATOMS = "atoms"
    BOTH = "both"


class Compression(StrEnum):
    """Whether chunks are compressed."""

    NONE = "none"
    GZIP = "gzip"


def repack(
    trajectories: options.Trajectories,
    output: Annotated[
        Path,
        typer.Option("-o", "--output", metavar="FILE", rich_help_panel=options.OUTPUT, help="File to write: .h5md .h5"),
    ],
    access: Annotated[
        Access | None,
        typer.Option(
            rich_help_panel=STORAGE,
            help="What will be read: whole frames, few atoms in all frames, or either.  [default: both]",
        ),
    ] = None,
    chunk: Annotated[
        str | None,
        typer.Option(
            metavar="FRAMESxATOMS",
            rich_help_panel=STORAGE,
            help="Frames and atoms of a chunk, in place of what suits --access.",
        ),
    ] = None,
    compression: Annotated[
        Compression, typer.Option(rich_help_panel=STORAGE, help="Whether chunks are compressed.")
    ] = Compression.NONE,
    level: Annotated[
        int | None,
        typer.Option(metavar="N", min=0, max=9, rich_help_panel=STORAGE, help="Level of gzip, 0 to 9.  [default: 4]"),
    ] = None,
    group: Annotated[
        str, typer.Option(metavar="NAME", rich_help_panel=STORAGE, help="Name of the group of particles.")
    ] = "trajectory",
    topology: options.OptionalTopology = None,
    selection: options.OptionalSelection = None,
    begin: options.Begin = None,
    end: options.End = None,
    interval: options.Interval = None,
    start: options.Start = None,
    stop: options.Stop = None,
    step: options.Step = None,
    force: options.Force = False,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    n_workers: options.Threads = 0,
) -> None:
    """Write a trajectory to H5MD, stored for the way in which it will be read."""
    check_window((begin, end, interval), (start, stop, step))
    check_usage(output, None, topology, selection)
    sizes = _check_storage(output, access, chunk, compression, level, group)

    from mdreel.trajectory.read import read
    from mdreel.trajectory.repack import repack as repack_trajectory

    with failing_by_file(trajectories):
        source = read(trajectories)
        frames = frames_in_window(source, begin, end, interval)
        written = repack_trajectory(
            source,
            output,
            access=None if access is None else access.value,
            chunk=sizes,
            compression=compression.value,
            level=level,
            group=group,
            atoms=selected(topology, selection),
            start=start,
            stop=stop,
            step=step,
            frames=frames,
            n_workers=n_workers or None,
            progress=not quiet,
            force=force,
        )
    report(written, quiet, verbose)


def _check_storage(
    output: Path, access: Access | None, chunk: str | None, compression: Compression, level: int | None, group: str
) -> tuple[int, int] | None:
    """Refuse what cannot be meant, before anything is opened; return frames and atoms of a chunk."""
    from mdreel.errors import MismatchError
    from mdreel.trajectory.chunking import check_compression, parse_chunk
    from mdreel.trajectory.h5md_writer import check_group
    from mdreel.trajectory.output_file import H5MD, find_format

    if find_format(output).name != H5MD:
        raise CommandError(f"{output}: a trajectory is repacked to H5MD: end it with .h5md or .h5", ExitCode.USAGE)
    if access is not None and chunk is not None:
        raise CommandError("give either --access or --chunk, not both", ExitCode.USAGE)
    try:
        check_compression(compression.value, level)
        check_group(group)
        return None if chunk is None else parse_chunk(chunk)
    except MismatchError as error:
        raise CommandError(str(error), ExitCode.USAGE) from error
