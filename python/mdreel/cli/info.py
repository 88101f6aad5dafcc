"""``mdreel info``: what is in a trajectory."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mdreel.cli import options
from mdreel.cli.exits import CommandError, ExitCode, failing_with

if TYPE_CHECKING:
    from mdreel._core import Source

EXAMPLES = """\b
Examples:
  mdreel info -f adk.xtc
  mdreel info -s adk.psf -f adk.dcd --json
"""

Facts = dict[str, Any]


def info(
    trajectories: options.Trajectories,
    topology: Annotated[
        Path | None,
        typer.Option(
            "-s",
            "--topology",
            metavar="FILE",
            rich_help_panel=options.INPUT,
            help="Topology or structure, to see whether it belongs to the trajectory.",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", rich_help_panel=options.OUTPUT, help="All that is known, as JSON for programs.")
    ] = False,
) -> None:
    """What is in a trajectory: atoms, frames, times, box, size, format."""
    from mdreel.sources.open import open_source

    with failing_with(ExitCode.INPUT):
        facts = _facts(open_source(trajectories))
    if topology is not None:
        facts["topology"] = _topology(topology, facts["n_atoms"])
    if facts["torn_end"] is not None:
        typer.echo(f"mdreel: warning: {facts['torn_end']}", err=True)
    if as_json:
        typer.echo(json.dumps(facts, indent=2, default=str))
    else:
        typer.echo("\n".join(_page(facts)))


def _facts(source: "Source") -> Facts:
    """All that is known, under names that programs can rely on."""
    import numpy as np

    times = source.times()
    steps = np.diff(times)
    n_frames = source.n_frames
    return {
        "n_atoms": source.n_atoms,
        "n_frames": n_frames,
        "first_time_ps": float(times[0]) if n_frames else None,
        "last_time_ps": float(times[-1]) if n_frames else None,
        "shortest_interval_ps": float(steps.min()) if n_frames > 1 else None,
        "longest_interval_ps": float(steps.max()) if n_frames > 1 else None,
        "first_box": _box(source) if n_frames else None,
        "size_bytes": source.n_bytes,
        "bytes_per_frame": source.n_bytes / n_frames if n_frames else None,
        "torn_end": _torn_end(source),
        "files": [dict(part) for part in source.describe()],
    }


def _torn_end(source: "Source") -> str | None:
    """What is wrong with a frame behind the last whole one, if there is such a frame."""
    from mdreel.errors import FormatError

    try:
        source.check_end()
    except FormatError as error:
        return str(error)
    return None


def _box(source: "Source") -> list[float] | None:
    """Lengths (Å) and angles (degrees) of the first frame's cell."""
    import numpy as np

    from mdreel._core import FrameSet

    first = source.read(FrameSet.range(0, 1, 1), np.zeros(0, np.uint32))
    return [float(value) for value in first.dimensions[0]] if first.has_cell[0] else None


def _topology(path: Path, n_atoms: int) -> Facts:
    from mdreel.cli.system import open_topology

    atoms = open_topology(path).atoms
    if len(atoms) != n_atoms:
        message = f"{path} has {len(atoms)} atoms, the trajectory {n_atoms}: they do not belong together"
        raise CommandError(message, ExitCode.INPUT)
    return {"path": str(path), "n_residues": len(atoms.residues), "n_segments": len(atoms.segments)}


def _page(facts: Facts) -> Iterator[str]:
    """The facts in lines for people: the whole first, then what each file adds."""
    files = facts["files"]
    whole = {
        "atoms": f"{facts['n_atoms']:,}",
        "frames": f"{facts['n_frames']:,}",
        "time": _times(facts),
        "box": _cell(facts["first_box"]),
        "size": _size(facts["size_bytes"])
        + (f", {_size(facts['bytes_per_frame'])} a frame" if facts["n_frames"] else ""),
    }
    if "topology" in facts:
        topology = facts["topology"]
        whole["topology"] = f"{topology['path']}: {topology['n_residues']:,} residues"
    if len(files) > 1:
        yield f"{len(files)} files, one after the other"
        yield from _lines(whole)
        whole = {}
    for file in files:
        yield f"{file['path']}"
        own = {name: value for name, value in file.items() if name not in ("path", "size")}
        if "frame interval" in own:
            own["frame interval"] = f"{own['frame interval']:.6g} ps"
        yield from _lines(whole | ({"size": _size(file["size"])} if len(files) > 1 else {}) | own)


def _lines(facts: Mapping[str, Any]) -> Iterator[str]:
    width = max(map(len, facts))
    for name, value in facts.items():
        said = ("yes" if value else "no") if isinstance(value, bool) else str(value)
        yield f"  {name:{width}}  {said}"


def _times(facts: Facts) -> str:
    first, last = facts["first_time_ps"], facts["last_time_ps"]
    shortest, longest = facts["shortest_interval_ps"], facts["longest_interval_ps"]
    if first is None:
        return "none"
    if shortest is None:
        return f"{first:.6g} ps"
    # Times are rounded to float32 in files.
    regular = longest - shortest <= 1e-6 * max(abs(first), abs(last))
    if regular:
        return f"{first:.6g} to {last:.6g} ps, every {(last - first) / (facts['n_frames'] - 1):.6g} ps"
    return f"{first:.6g} to {last:.6g} ps, in intervals from {shortest:.6g} to {longest:.6g} ps"


def _cell(box: list[float] | None) -> str:
    if box is None:
        return "none"
    lengths, angles = (" x ".join(f"{value:.3f}" for value in box[:3]), ", ".join(f"{value:.2f}" for value in box[3:]))
    return f"{lengths} Å, {angles} degrees in the first frame"


def _size(n_bytes: float) -> str:
    """Bytes in the largest decimal unit, as disks are sold."""
    for unit, many in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if n_bytes >= many:
            return f"{n_bytes / many:.3g} {unit}"
    return f"{n_bytes:.0f} bytes"
