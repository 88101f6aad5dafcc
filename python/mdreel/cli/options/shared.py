"""Options that several commands share. Each option is declared once, with the same choices as in the library."""

import warnings
from pathlib import Path
from typing import Annotated, Literal

from mdreel.analysis.choices import TransformationName
from mdreel.cli.options.declare import Option
from mdreel.errors import BrokenMoleculeWarning, JumpWarning, UnitWarning
from mdreel.execution import choices as run_choices

INPUT = "Input"
BOUNDARIES = "Periodic boundaries"
FRAMES = "Frames (by time or by number, not both)"
OUTPUT = "Output"
EXECUTION = "Execution"
FOLLOWING = "Following a growing file"
CHANNEL = "Reading a channel"


def _trajectory(takes_several: bool, several: str) -> Option:
    formats = "Trajectory (XTC, TRR, DCD, AMBER NetCDF, H5MD)."
    text = f"{formats} {several} them one after another."
    return Option(*("-f", "--trajectory"), metavar="FILE", group=INPUT, help=text, takes_several=takes_several)


_TRAJECTORY = _trajectory(True, "List several files to read")
_TOPOLOGY = Option(
    *("-s", "--topology"),
    metavar="FILE",
    group=INPUT,
    help="Topology or structure in a format that MDAnalysis can read (PSF, PDB, GRO, TPR, PRMTOP, ...).",
)
_WORKERS = Option(
    *("-nt", "--n-workers"),
    metavar="N",
    minimum=0,
    group=EXECUTION,
    help="Number of threads or processes. Use 0 for one per core.",
)
_SCHEDULE = Option(
    "--schedule",
    group=EXECUTION,
    is_advanced=True,
    help="Assign each block to the next free worker (demand), or one share of all blocks to each worker (static).",
)


def second_selection(found: str) -> Option:
    """Return the option for a second selection of an analysis that finds something between two selections."""
    text = f"Second selection. Only {found} between the two selections are found.  [default: the same]"
    return Option("--other", metavar="SELECTION", help=text)


def _seconds(name: str, group: str, text: str) -> Option:
    return Option(name, metavar="SECONDS", minimum=0, group=group, is_advanced=True, help=text)


Trajectories = Annotated[list[Path], _TRAJECTORY]
OptionalTrajectories = Annotated[list[Path] | None, _TRAJECTORY]
RepeatedTrajectories = Annotated[list[Path] | None, _trajectory(False, "Repeat the option for several files to read")]
"""For commands with arguments. Otherwise, `-f` would interpret the arguments as trajectories."""
Topology = Annotated[Path, _TOPOLOGY]
OptionalTopology = Annotated[Path | None, _TOPOLOGY]
Index = Annotated[
    Path | None,
    Option(
        *("-n", "--index"),
        metavar="FILE",
        group=INPUT,
        help="GROMACS index file. Selections can use its groups, as in 'group Protein' or 'group \"Two words\"'.",
    ),
]
Selection = Annotated[str, Option("--select", metavar="SELECTION", help="Atoms, in MDAnalysis's selection language.")]
Other = Annotated[
    str | None, Option("--other", metavar="SELECTION", help="Second group of atoms.  [default: the same]")
]
Weights = Annotated[Literal["none", "mass"], Option("--weights", help="Equal weights (none), or masses (mass).")]
_SUPERPOSITION = Option("--superposition/--no-superposition", help="Superpose each frame on the reference first.")
Superposition = Annotated[bool, _SUPERPOSITION]
OptionalSuperposition = Annotated[bool | None, _SUPERPOSITION]
Reference = Annotated[
    Path | None,
    Option(
        "--reference", metavar="FILE", help="Reference structure, in which the selection must match the same atoms."
    ),
]
ReferenceFrame = Annotated[
    int | None, Option("--ref-frame", metavar="N", help="Reference frame, starting from 0.  [default: 0]")
]
MatchAtoms = Annotated[
    bool,
    Option(
        "--match-atoms/--no-match-atoms",
        help="Report an error if the atoms of the reference have different masses or a different order.",
    ),
]
MassTolerance = Annotated[
    float,
    Option("--tol-mass", metavar="AMU", minimum=0, help="Largest difference between the masses of two matching atoms."),
]

Begin = Annotated[float | None, Option("-b", "--begin", metavar="PS", group=FRAMES, help="First time, in ps.")]
End = Annotated[float | None, Option("-e", "--end", metavar="PS", group=FRAMES, help="Last time, in ps (included).")]
Interval = Annotated[
    float | None,
    Option(
        *("-dt", "--interval"),
        metavar="PS",
        group=FRAMES,
        help="Read only frames at multiples of this time after the first frame, in ps.",
    ),
]
Start = Annotated[
    int | None,
    Option("--start", metavar="N", group=FRAMES, help="First frame, from 0. Negative numbers count from the end."),
]
Stop = Annotated[int | None, Option("--stop", metavar="N", group=FRAMES, help="Stop before this frame.")]
Step = Annotated[int | None, Option("--step", metavar="N", minimum=1, group=FRAMES, help="Read only every N-th frame.")]

Transforms = Annotated[
    list[TransformationName] | None,
    Option(
        "--transform",
        metavar="NAME",
        group=BOUNDARIES,
        help="Transformation of each frame before the analysis: make molecules whole along their bonds (whole), "
        "centre a group in the cell (center), or undo jumps across boundaries (nojump). The choices wrap-atoms, "
        "wrap-residues and wrap-fragments move atoms, residues or fragments into the cell. Repeat the option for "
        "several transformations, in the order in which they are applied.",
    ),
]
CenterOn = Annotated[
    str,
    Option(
        "--center-on",
        metavar="SELECTION",
        group=BOUNDARIES,
        help="Atoms whose centre of mass is moved to the middle of the cell by --transform center.",
    ),
]

Output = Annotated[
    list[Path] | None,
    Option(
        *("-o", "--output"),
        metavar="FILE",
        group=OUTPUT,
        help="Table of results (.csv .xvg .npz .parquet .json .nc .xlsx) or plot (.png .pdf .svg). Repeat the option "
        "for several files. If there is no table, a summary is printed.",
    ),
]
Plot = Annotated[Path | None, Option("--plot", metavar="FILE", group=OUTPUT, help="Plot: .png .pdf .svg")]
TimingFile = Annotated[
    Path | None,
    Option(
        "--timing",
        metavar="FILE",
        group=OUTPUT,
        is_advanced=True,
        help="File for the spans of the run: .jsonl .parquet, or for viewers: .trace.json (Perfetto), .otlp.json "
        "(OpenTelemetry), .cali.json (Hatchet).",
    ),
]
ReportFile = Annotated[
    Path | None,
    Option("--report", metavar="FILE", group=OUTPUT, help="Page with the results and the timing of the run: .html"),
]
AsJson = Annotated[bool, Option("--json", group=OUTPUT, help="Print all values as JSON, for programs.")]
Units = Annotated[
    Literal["A", "Å", "angstrom", "nm"],
    Option("--units", group=OUTPUT, help="Unit of lengths in outputs. Options, structures and grids are always in Å."),
]
TimeUnit = Annotated[
    Literal["ps", "ns", "us"] | None,
    Option(
        *("-tu", "--time-unit"),
        group=OUTPUT,
        help="Unit of times in outputs. Options such as -b are always in ps.  [default: ps, or automatic for plots]",
    ),
]
Force = Annotated[bool, Option("--force", group=OUTPUT, help="Replace existing files.")]


def _ignore_advice(is_quiet: bool) -> bool:
    """Ignore warnings about boundaries and units, but not about damaged frames."""
    if is_quiet:
        for category in (BrokenMoleculeWarning, JumpWarning, UnitWarning):
            warnings.simplefilter("ignore", category)
    return is_quiet


Quiet = Annotated[
    bool,
    Option(
        *("-q", "--quiet"),
        callback=_ignore_advice,
        group=OUTPUT,
        help="Do not print progress, timing, or warnings about boundaries and units.",
    ),
]
Verbose = Annotated[bool, Option("-v", "--verbose", group=OUTPUT, help="Also print the timing of every worker.")]

Backend = Annotated[
    run_choices.Backend | None,
    Option("--backend", group=EXECUTION, help="Executor of the run.  [default: mpi under mpirun, else threads]"),
]
Workers = Annotated[int, _WORKERS]
OptionalWorkers = Annotated[int | None, _WORKERS]
Parts = Annotated[
    int | None,
    Option(
        "--n-parts",
        metavar="N",
        minimum=1,
        group=EXECUTION,
        is_advanced=True,
        help="Number of blocks of frames. It does not affect the results.",
    ),
]
Access = Annotated[
    run_choices.Access | None,
    Option(
        "--access",
        group=EXECUTION,
        is_advanced=True,
        help="File access: all workers read one file (shared) or several files as one (chain), or each block is "
        "within one of several files (segments). For mpi, also parallel HDF5 (H5MD) and MPI-IO (XTC, TRR, DCD), each "
        "independently or collectively.  "
        "[default: shared, or chain]",
    ),
]
Schedule = Annotated[run_choices.Schedule, _SCHEDULE]
OptionalSchedule = Annotated[run_choices.Schedule | None, _SCHEDULE]
Communication = Annotated[
    run_choices.Communication | None,
    Option(
        "--communication",
        group=EXECUTION,
        is_advanced=True,
        help="For mpi: gather results at the end (gather), or write them to an array while they are computed. The "
        "array is on rank 0 (window) or distributed over all ranks (global-arrays).  [default: window on one node, "
        "gather on several]",
    ),
]
Scheduler = Annotated[
    str | None,
    Option(
        "--scheduler",
        metavar="ADDRESS",
        group=EXECUTION,
        is_advanced=True,
        help="For dask: address of a running scheduler, such as tcp://10.0.0.1:8786.  [default: a local cluster]",
    ),
]
Memory = Annotated[
    str | None,
    Option(
        "--memory",
        metavar="SIZE",
        group=EXECUTION,
        is_advanced=True,
        help="Total memory limit of all processes, such as 2G. Runs that need more memory are refused.",
    ),
]
Checkpoint = Annotated[
    Path | None,
    Option(
        "--checkpoint",
        metavar="FILE",
        group=EXECUTION,
        help="Store the results of finished blocks in this file. If the command is killed, run it again to continue.",
    ),
]
OnError = Annotated[
    run_choices.OnError,
    Option("--on-error", group=EXECUTION, help="If a frame is damaged: report an error, stop before it, or skip it."),
]

Follow = Annotated[
    bool,
    Option(
        "--follow",
        group=FOLLOWING,
        help="Read the trajectory (XTC, TRR, DCD) while a simulation writes it. The file can be missing at first. "
        "Set an option --end-... to tell mdreel when the trajectory is complete.",
    ),
]
EndFrames = Annotated[
    int | None,
    Option(
        "--end-frames",
        metavar="N",
        minimum=1,
        group=FOLLOWING,
        is_advanced=True,
        help="The trajectory is complete when it has N frames. If it ends earlier, an error is reported.",
    ),
]
EndIdle = Annotated[
    float | None, _seconds("--end-idle", FOLLOWING, "The trajectory is complete when it has not grown for this time.")
]
EndFile = Annotated[
    Path | None,
    Option(
        "--end-file",
        metavar="FILE",
        group=FOLLOWING,
        is_advanced=True,
        help="The trajectory is complete when this file exists.",
    ),
]
EndProcess = Annotated[
    int | None,
    Option(
        "--end-process",
        metavar="PID",
        minimum=1,
        group=FOLLOWING,
        is_advanced=True,
        help="The trajectory is complete when this process has ended.",
    ),
]

Channel = Annotated[
    str | None,
    Option(
        "--channel",
        metavar="NAME",
        group=CHANNEL,
        help="Channel (name or directory) of a running simulation, to read instead of a trajectory.",
    ),
]
ChannelBegin = Annotated[
    str | None,
    Option(
        "--start-at",
        metavar="WHERE",
        group=CHANNEL,
        is_advanced=True,
        help="First frame: earliest, latest, or first at or after sequence:N, step:N or time:PS.  [default: earliest]",
    ),
]
ChannelWait = Annotated[float | None, _seconds("--wait", CHANNEL, "Maximum time to wait until the channel is created.")]
ChannelNewRun = Annotated[
    bool,
    Option(
        "--new-run",
        group=CHANNEL,
        is_advanced=True,
        help="Wait for the next run if the current run has ended or its producer was lost. The time limit is set by "
        "--wait. By default, there is no limit.",
    ),
]
ChannelOnLate = Annotated[
    Literal["warn", "raise"] | None,
    Option(
        "--on-late",
        group=CHANNEL,
        is_advanced=True,
        help="If frames had been removed from the channel before the analysis joined: warn, or end with an error.  "
        "[default: warn]",
    ),
]
ChannelTimeout = Annotated[
    float | None,
    _seconds("--timeout", CHANNEL, "Maximum time to wait for a frame.  [default: as long as the simulation runs]"),
]
ChannelRestart = Annotated[
    float | None, _seconds("--restart", CHANNEL, "Maximum time to wait for a lost simulation to restart.")
]
Every = Annotated[
    float | None,
    _seconds(
        "--every",
        CHANNEL,
        "Minimum time between two updates of the outputs, also with --follow.  [default: 1 with --channel]",
    ),
]
