"""The command ``mdreel repack``, which writes a trajectory to H5MD with chunks that suit the expected access."""

from pathlib import Path
from typing import Annotated

from mdreel.cli.analyses.request import check_window
from mdreel.cli.errors import CommandError, ExitCode
from mdreel.cli.options import shared
from mdreel.cli.options.declare import Option, command
from mdreel.cli.trajectory import written_files
from mdreel.cli.trajectory.input_files import Files, input_files
from mdreel.cli.trajectory.written_files import WrittenAtoms, check_usage, failing_by_file, report
from mdreel.trajectory.chunking import ACCESSES, COMPRESSIONS

EXAMPLES = """\
Examples:
  mdreel repack -f adk.xtc -o adk.h5md --access atoms
  mdreel repack -f adk.xtc -o adk.h5md --chunk 256x64 --compression gzip --level 6
"""

STORAGE = "Storage"


@command(examples=EXAMPLES)
def repack(
    *,
    files: Files = None,
    trajectories: shared.OptionalTrajectories = None,
    output: Annotated[
        Path, Option("-o", "--output", metavar="FILE", group=shared.OUTPUT, help="File to write: .h5md .h5")
    ],
    access: Annotated[
        str | None,
        Option(
            choices=ACCESSES,
            group=STORAGE,
            help="Expected access: whole frames, a few atoms in all frames, or both.  [default: both]",
        ),
    ] = None,
    chunk: Annotated[
        str | None,
        Option(
            metavar="FRAMESxATOMS", group=STORAGE, help="Numbers of frames and atoms per chunk, instead of --access."
        ),
    ] = None,
    compression: Annotated[
        str, Option(choices=COMPRESSIONS, group=STORAGE, help="Compression of the chunks.")
    ] = "none",
    level: Annotated[
        int | None,
        Option(metavar="N", minimum=0, maximum=9, group=STORAGE, help="Level of gzip, from 0 to 9.  [default: 4]"),
    ] = None,
    group: Annotated[str, Option(metavar="NAME", group=STORAGE, help="Name of the particle group.")] = "trajectory",
    topology: written_files.Topology = None,
    index: shared.Index = None,
    selection: written_files.Selection = None,
    structure: written_files.Structure = None,
    begin: shared.Begin = None,
    end: shared.End = None,
    interval: shared.Interval = None,
    start: shared.Start = None,
    stop: shared.Stop = None,
    step: shared.Step = None,
    force: shared.Force = False,
    quiet: shared.Quiet = False,
    verbose: shared.Verbose = False,
    n_workers: shared.Workers = 0,
) -> None:
    """Write a trajectory to H5MD, with chunks that suit the expected access."""
    trajectories = input_files(files, trajectories)
    check_window((begin, end, interval), (start, stop, step))
    check_usage(output, None)
    written_atoms = WrittenAtoms(topology, index, selection, structure)
    written_atoms.check(output, force)
    sizes = _check_storage(output, access, chunk, compression, level, group)

    from mdreel.trajectory.open import open as open_trajectory
    from mdreel.trajectory.repack import repack as repack_trajectory
    from mdreel.trajectory.window import TimeWindow, frames_in_window

    with failing_by_file(trajectories):
        universe = written_atoms.universe(trajectories[0])
        atoms = written_atoms.selected(universe)
        source = open_trajectory(trajectories)
        frames = frames_in_window(source, TimeWindow(begin, end, interval))
        written = repack_trajectory(
            source,
            output,
            access=access,
            chunk=sizes,
            compression=compression,
            level=level,
            group=group,
            atoms=atoms,
            start=start,
            stop=stop,
            step=step,
            frames=frames,
            n_workers=n_workers or None,
            progress=not quiet,
            force=force,
        )
    written_atoms.write_structure(universe, atoms, written.paths[0], force)
    report(written, quiet, verbose)


def _check_storage(
    output: Path, access: str | None, chunk: str | None, compression: str, level: int | None, group: str
) -> tuple[int, int] | None:
    """Check the storage options before a file is opened, and return the numbers of frames and atoms in a chunk."""
    from mdreel.errors import MismatchError
    from mdreel.trajectory.chunking import check_compression, parse_chunk
    from mdreel.trajectory.h5md_writer import check_group
    from mdreel.trajectory.output_file import H5MD, find_format

    if find_format(output).name != H5MD:
        raise CommandError(f"{output}: repack writes H5MD; name the output .h5md or .h5", ExitCode.USAGE)
    if access is not None and chunk is not None:
        raise CommandError("give either --access or --chunk, not both", ExitCode.USAGE)
    try:
        check_compression(compression, level)
        check_group(group)
        return None if chunk is None else parse_chunk(chunk)
    except MismatchError as error:
        raise CommandError(str(error), ExitCode.USAGE) from error
