"""The command ``mdreel info``, which shows the atoms, frames, times, box, size and format of a trajectory."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mdreel.cli.errors import CommandError, ExitCode, failing_with
from mdreel.cli.options import shared
from mdreel.cli.options.declare import command
from mdreel.cli.output import echo, echo_json
from mdreel.cli.trajectory.input_files import Files, TopologyOfFiles, input_files

EXAMPLES = """\
Examples:
  mdreel info adk.xtc
  mdreel info -s adk.psf -f adk.dcd --json
"""

Facts = dict[str, Any]

WORDS = {True: "yes", False: "no", None: "none"}

FRAMES_SHOWN = 5
"""Number of frames listed for each kind of irregular time."""


@command(examples=EXAMPLES)
def info(
    files: Files = None,
    trajectories: shared.OptionalTrajectories = None,
    topology: TopologyOfFiles = None,
    units: shared.Units = "A",
    time_unit: shared.TimeUnit = None,
    as_json: shared.AsJson = False,
) -> None:
    """Show atoms, frames, times, box, size and format of a trajectory."""
    if as_json and (units != "A" or time_unit is not None):
        raise CommandError("--json prints Å and ps: leave out --units and -tu", ExitCode.USAGE)
    trajectories = input_files(files, trajectories)

    from mdreel.trajectory.info import info as info_of

    with failing_with(ExitCode.INPUT):
        facts = info_of(trajectories)
    if topology is not None:
        facts["topology"] = _topology(topology, facts["n_atoms"])
    if facts["torn_end"] is not None:
        echo(f"mdreel: warning: {facts['torn_end']}", err=True)
    if as_json:
        echo_json(facts, indent=2, ensure_ascii=True, default=str)
    else:
        from mdreel.results.shown_units import ShownUnits

        shown = ShownUnits(units, time_unit)
        # Lines that are not indented are names of files.
        echo("\n".join(shown.text(line) if line.startswith(" ") else line for line in _page(facts)))


def _topology(path: Path, n_atoms: int) -> Facts:
    from mdreel.analysis.topology.topology_file import open_topology

    with failing_with(ExitCode.INPUT):
        atoms = open_topology(path).atoms
    if len(atoms) != n_atoms:
        message = f"{path} has {len(atoms)} atoms, but the trajectory has {n_atoms}"
        raise CommandError(message, ExitCode.INPUT)
    return {"path": str(path), "n_residues": len(atoms.residues), "n_segments": len(atoms.segments)}


def _page(facts: Facts) -> Iterator[str]:
    """Yield lines about the trajectory, followed by lines about each file."""
    files = facts["files"]
    whole = {
        "atoms": f"{facts['n_atoms']:,}",
        "frames": f"{facts['n_frames']:,}",
        "time": _times(facts),
        **_irregular(facts),
        "box": _cell(facts["first_box"]),
        "size": _size(facts["size_bytes"])
        + (f", {_size(facts['bytes_per_frame'])} per frame" if facts["n_frames"] else ""),
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
        if "stripes" in own:
            own["stripes"] = ", then ".join(f"{one['count']} of {_size(one['size'])}" for one in own["stripes"])
        yield from _lines(whole | ({"size": _size(file["size"])} if len(files) > 1 else {}) | own)


def _lines(facts: Mapping[str, Any]) -> Iterator[str]:
    width = max(map(len, facts))
    for name, value in facts.items():
        text = WORDS[value] if value is None or isinstance(value, bool) else str(value)
        yield f"  {name:{width}}  {text}"


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


def _irregular(facts: Facts) -> dict[str, str]:
    """Return gaps, repeated times and backward steps, all of which distort averages over time."""
    found = {}
    for name, text in (("gaps", "gaps"), ("repeated_times", "same time"), ("backward_times", "back in time")):
        if frames := facts[name]:
            shown = ", ".join(f"{frame:,}" for frame in frames[:FRAMES_SHOWN])
            more = f" and {len(frames) - FRAMES_SHOWN:,} more" if len(frames) > FRAMES_SHOWN else ""
            found[text] = f"{'before' if name == 'gaps' else 'at'} frame{'s' * (len(frames) > 1)} {shown}{more}"
    return found


def _cell(box: list[float] | None) -> str:
    if box is None:
        return "none"
    lengths, angles = (" x ".join(f"{value:.3f}" for value in box[:3]), ", ".join(f"{value:.2f}" for value in box[3:]))
    return f"{lengths} Å, {angles} degrees in the first frame"


def _size(n_bytes: float) -> str:
    """Format bytes in the largest decimal unit."""
    for unit, many in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if n_bytes >= many:
            return f"{n_bytes / many:.3g} {unit}"
    return f"{n_bytes:.0f} bytes"
