"""The command ``mdreel check``, which reports defects and irregular times in trajectories."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from mdreel.cli.errors import ExitCode, failing_with
from mdreel.cli.options import shared
from mdreel.cli.options.declare import command
from mdreel.cli.output import echo, echo_json
from mdreel.cli.trajectory.input_files import Files, TopologyOfFiles, input_files

if TYPE_CHECKING:
    from mdreel.trajectory.check import Defect, Report

EXAMPLES = """\
Examples:
  mdreel check adk.xtc
  mdreel check -s adk.psf part-1.xtc part-2.xtc --json
"""

_SHOWN_NOTES = 5


@command(examples=EXAMPLES)
def check(
    files: Files = None,
    trajectories: shared.OptionalTrajectories = None,
    topology: TopologyOfFiles = None,
    as_json: shared.AsJson = False,
    quiet: shared.Quiet = False,
    n_workers: shared.Workers = 0,
) -> None:
    """Read every frame and report all defects. The exit status is 1 if a file has a defect."""
    trajectories = input_files(files, trajectories)

    from mdreel.trajectory.check import check as check_trajectory

    n_atoms = None
    if topology is not None:
        from mdreel.analysis.topology.topology_file import open_topology

        with failing_with(ExitCode.INPUT):
            n_atoms = len(open_topology(topology).atoms)
    with failing_with(ExitCode.INPUT):
        reports = [
            check_trajectory(path, n_atoms=n_atoms, n_workers=n_workers or None, progress=not quiet)
            for path in trajectories
        ]
    if as_json:
        echo_json([_facts(report) for report in reports], indent=2, ensure_ascii=True)
    else:
        echo("\n".join(line for report in reports for line in _page(report)))
    if not all(report.is_sound for report in reports):
        raise click.exceptions.Exit(ExitCode.DEFECT)


def _facts(report: "Report") -> dict[str, object]:
    """Convert a report for JSON output. Its keys are stable."""
    return {
        "path": report.path,
        "format": report.format,
        "n_atoms": report.n_atoms,
        "n_frames": report.n_frames,
        "size_bytes": report.n_bytes,
        "is_sound": report.is_sound,
        "defects": [asdict(defect) for defect in report.defects],
        "notes": [asdict(note) for note in report.notes],
    }


def _page(report: "Report") -> Iterator[str]:
    n_defects = len(report.defects)
    verdict = "sound" if report.is_sound else f"{n_defects:,} defect{'s' if n_defects > 1 else ''}"
    if report.format is None:
        yield f"{report.path}: {verdict}"
    else:
        yield (
            f"{report.path}: {verdict} ({report.format}, {report.n_frames:,} whole frames of {report.n_atoms:,} atoms)"
        )
    yield from (f"  {_line(defect, report.path)}" for defect in report.defects)
    yield from (f"  note: {_line(note, report.path)}" for note in report.notes[:_SHOWN_NOTES])
    if len(report.notes) > _SHOWN_NOTES:
        yield f"  note: and {len(report.notes) - _SHOWN_NOTES:,} more such intervals (--json lists them)"


def _line(defect: "Defect", path: str) -> str:
    """Return the position and the message of a defect. Error messages begin with the path and contain the position."""
    if defect.message.startswith(f"{path}"):
        return f"{defect.kind}: {defect.message.removeprefix(path).lstrip(',: ')}"
    place = [f"frame {defect.frame}"] if defect.frame is not None else []
    place += [f"byte {defect.byte}"] if defect.byte is not None else []
    return f"{defect.kind}: {': '.join([', '.join(place), defect.message] if place else [defect.message])}"
