"""Options that several commands share, spelled once."""

import warnings
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from mdreel.errors import BrokenMoleculeWarning, JumpWarning, UnitWarning

INPUT = "Input"
BOUNDARIES = "Periodic boundaries"
FRAMES = "Frames (by time or by number, not both)"
ANALYSIS = "Analysis"
OUTPUT = "Output"
EXECUTION = "Execution"

# What can be written: told here once more, as help must not wait for the core to be loaded. A test compares.
ENDINGS = (".xtc", ".dcd", ".trr", ".nc", ".h5md", ".h5")


class OnError(StrEnum):
    """What is done where a frame is damaged."""

    RAISE = "raise"
    STOP = "stop"
    SKIP = "skip"


class Transform(StrEnum):
    """What is done with the positions of a frame before anything is computed."""

    WHOLE = "whole"
    WRAP_ATOMS = "wrap-atoms"
    WRAP_RESIDUES = "wrap-residues"
    WRAP_FRAGMENTS = "wrap-fragments"
    CENTER = "center"
    NOJUMP = "nojump"


Trajectories = Annotated[
    list[Path],
    typer.Option(
        "-f",
        "--trajectory",
        metavar="FILE",
        rich_help_panel=INPUT,
        help="Trajectory (XTC, TRR, DCD, AMBER NetCDF, H5MD); give it again for more, read one after the other.",
    ),
]
Topology = Annotated[
    Path,
    typer.Option(
        "-s",
        "--topology",
        metavar="FILE",
        rich_help_panel=INPUT,
        help="Topology or structure that MDAnalysis reads (PSF, PDB, GRO, TPR, PRMTOP, ...).",
    ),
]
Selection = Annotated[
    str,
    typer.Option(
        "--select",
        metavar="SELECTION",
        rich_help_panel=ANALYSIS,
        help="Atoms, in MDAnalysis's selection language.",
    ),
]
Output = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        rich_help_panel=OUTPUT,
        help="Table of the results: .csv .xvg .npz .parquet .json .nc; without it a summary is printed.",
    ),
]
Plot = Annotated[
    Path | None,
    typer.Option("--plot", metavar="FILE", rich_help_panel=OUTPUT, help="Picture: .png .pdf .svg"),
]
Written = Annotated[
    Path,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        rich_help_panel=OUTPUT,
        help=f"Trajectory to write: {' '.join(ENDINGS)}",
    ),
]
Transforms = Annotated[
    list[Transform] | None,
    typer.Option(
        "--transform",
        rich_help_panel=BOUNDARIES,
        help="What is done with each frame first; give it again for more, one after the other: molecules made whole "
        "over their bonds; atoms, residues or molecules moved into the cell; centred in it; followed out of it.",
    ),
]
CenterOn = Annotated[
    str,
    typer.Option(
        "--center-on",
        metavar="SELECTION",
        rich_help_panel=BOUNDARIES,
        help="Whose centre of mass is moved to the middle of the cell by --transform center.",
    ),
]
Other = Annotated[
    str | None,
    typer.Option(
        "--other",
        metavar="SELECTION",
        rich_help_panel=ANALYSIS,
        help="The atoms of the other side.  [default: the same]",
    ),
]
OptionalTopology = Annotated[
    Path | None,
    typer.Option(
        "-s",
        "--topology",
        metavar="FILE",
        rich_help_panel=INPUT,
        help="Topology or structure that MDAnalysis reads, for --select.",
    ),
]
OptionalSelection = Annotated[
    str | None,
    typer.Option(
        "--select",
        metavar="SELECTION",
        rich_help_panel=INPUT,
        help="Atoms, in MDAnalysis's selection language, in the order of the trajectory.  [default: all]",
    ),
]
Begin = Annotated[
    float | None,
    typer.Option("-b", "--begin", metavar="PS", rich_help_panel=FRAMES, help="First time, in ps."),
]
End = Annotated[
    float | None,
    typer.Option("-e", "--end", metavar="PS", rich_help_panel=FRAMES, help="Last time, in ps (included)."),
]
Interval = Annotated[
    float | None,
    typer.Option(
        "-dt",
        "--interval",
        metavar="PS",
        rich_help_panel=FRAMES,
        help="Only frames at the first time plus multiples of this, in ps.",
    ),
]
Start = Annotated[
    int | None,
    typer.Option("--start", metavar="N", rich_help_panel=FRAMES, help="First frame, from 0; negative: from the end."),
]
Stop = Annotated[
    int | None,
    typer.Option("--stop", metavar="N", rich_help_panel=FRAMES, help="Frame before which to stop."),
]
Step = Annotated[
    int | None,
    typer.Option("--step", metavar="N", min=1, rich_help_panel=FRAMES, help="Only every N-th frame."),
]
Precision = Annotated[
    float | None,
    typer.Option(
        "--precision",
        metavar="N",
        rich_help_panel=OUTPUT,
        help="For XTC: coordinates are rounded to 1/N nm.  [default: as in the trajectory, or 1000]",
    ),
]
Force = Annotated[bool, typer.Option("--force", rich_help_panel=OUTPUT, help="Replace files that exist.")]
OnErrorOption = Annotated[
    OnError,
    typer.Option(
        "--on-error",
        rich_help_panel=EXECUTION,
        help="Where a frame is damaged: fail, end before it, or leave it out.",
    ),
]
Threads = Annotated[
    int,
    typer.Option(
        "-nt",
        "--n-workers",
        metavar="N",
        min=0,
        rich_help_panel=EXECUTION,
        help="Number of threads; 0 for one on each core.",
    ),
]
Parts = Annotated[
    int | None,
    typer.Option(
        "--n-parts",
        metavar="N",
        min=1,
        rich_help_panel=EXECUTION,
        help="Number of blocks to cut the trajectory into; changes no result.",
    ),
]


def _without_advice(is_quiet: bool) -> bool:
    """Ignore the warnings that concern what was asked; those of damaged frames stay."""
    if is_quiet:
        for category in (BrokenMoleculeWarning, JumpWarning, UnitWarning):
            warnings.simplefilter("ignore", category)
    return is_quiet


Quiet = Annotated[
    bool,
    typer.Option(
        "-q",
        "--quiet",
        callback=_without_advice,
        rich_help_panel=OUTPUT,
        help="No progress, no timing, and no warnings of boundaries and units.",
    ),
]
Verbose = Annotated[
    bool,
    typer.Option("-v", "--verbose", rich_help_panel=OUTPUT, help="Timing of every worker, too."),
]
