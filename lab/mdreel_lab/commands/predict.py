"""Simulate the scaling of a run on a cluster."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from mdreel.cli.errors import CommandError, ExitCode, checking_output, failing_with
from mdreel.cli.options import shared
from mdreel.cli.options.declare import Option, command
from mdreel.cli.output import echo

if TYPE_CHECKING:
    from mdreel_lab.prediction.cluster import Cluster
    from mdreel_lab.prediction.published import Series
    from mdreel_lab.prediction.simulate import Scaling
    from mdreel_lab.prediction.workload import Workload

EXAMPLES = """\
Examples:
  mdreel predict
  mdreel predict --scheme mdreel --scheme shared-gather --ranks 1,24,240,2400 --plot predict.png
  mdreel predict --calibrate run.jsonl --frames 10000000 --cluster present-day --scheme mdreel
  mdreel predict --set storage.stall_probability=0 -o predict.csv
  mdreel predict --ratio 27 --ranks 24,72
  mdreel predict --table errors.md
"""

MODEL = "Model"
_DEFAULT_SCHEMES = ("shared-gather", "segments-global-arrays", "hdf5-independent", "mdreel")
_DEFAULT_RANKS = "1,8,24,48,96,192,384,1000"
_MOST_REPEATS = 1000


@command(examples=EXAMPLES)
def predict(
    schemes: Annotated[
        list[str] | None,
        Option(
            "--scheme",
            metavar="NAME",
            group=MODEL,
            help="Scheme to simulate; may be repeated. An unknown name lists all schemes.  "
            f"[default: {', '.join(_DEFAULT_SCHEMES)}]",
        ),
    ] = None,
    ranks: Annotated[
        str, Option(metavar="N,N,...", group=MODEL, help="Numbers of ranks, each on its own core.")
    ] = _DEFAULT_RANKS,
    cluster: Annotated[
        str, Option(metavar="NAME|FILE", group=MODEL, help="comet, present-day, or a TOML file with the same entries.")
    ] = "comet",
    settings: Annotated[
        list[str] | None,
        Option(
            "--set",
            metavar="NAME=NUMBER",
            group=MODEL,
            help="Change a parameter of the cluster, such as interconnect.connect_s=0.001; may be repeated.",
        ),
    ] = None,
    calibrate: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            group=MODEL,
            help="Record (--timing) of a run that gives the cost of a frame.  [default: the RMSD of AdK 600x, 2019]",
        ),
    ] = None,
    n_frames: Annotated[
        int | None,
        Option(
            "--frames", metavar="N", minimum=1, group=MODEL, help="Frames of the trajectory.  [default: as measured]"
        ),
    ] = None,
    repeats_of_compute: Annotated[
        int, Option("--workload", metavar="W", minimum=1, group=MODEL, help="Number of computations for each frame.")
    ] = 1,
    ratio: Annotated[
        float | None,
        Option(
            metavar="R",
            group=MODEL,
            help="Repeat the computation of each frame until R_comp/io of one rank is R, instead of --workload.",
        ),
    ] = None,
    n_repeats: Annotated[
        int,
        Option(
            "--repeats", metavar="N", minimum=1, maximum=_MOST_REPEATS, group=MODEL, help="Simulations of each point."
        ),
    ] = 5,
    seed: Annotated[int, Option(metavar="N", minimum=0, group=MODEL, help="Seed of the random numbers.")] = 0,
    output: Annotated[
        Path | None,
        Option(
            "-o",
            "--output",
            metavar="FILE",
            group=shared.OUTPUT,
            help="Table to write: .csv .xvg .npz .parquet .json .nc",
        ),
    ] = None,
    plot: Annotated[
        Path | None, Option(metavar="FILE", group=shared.OUTPUT, help="Figure to write: .png .pdf .svg")
    ] = None,
    table: Annotated[
        Path | None,
        Option(
            metavar="FILE",
            group=shared.OUTPUT,
            help="Write only a table of the errors against all points published in 2019 (Markdown).",
        ),
    ] = None,
    force: shared.Force = False,
) -> None:
    """Simulate how an analysis scales on a cluster with different schemes. The output is simulated, not measured.

    The model contains nodes, network, file system and rank 0, with the parameters of a cluster. The column "slow" is
    the share of ranks that take more than twice as long as the fastest tenth of the ranks. The page
    docs/design/029-prediction.md describes the equations, the origin of the parameters, and the errors against
    published values.
    """
    from mdreel_lab.prediction.cluster import read_cluster
    from mdreel_lab.prediction.schemes import SCHEMES, scheme_of
    from mdreel_lab.prediction.simulate import scaling

    if table is not None and (output is not None or plot is not None):
        raise CommandError("--table excludes --output and --plot: leave them out", ExitCode.USAGE)
    for path in (output, plot, table):
        if path is not None:
            _check(path, force)
    if ratio is not None and repeats_of_compute > 1:
        raise CommandError("--ratio excludes --workload: leave one of them out", ExitCode.USAGE)
    numbers = _numbers(ranks)
    names = list(dict.fromkeys(schemes or _DEFAULT_SCHEMES))
    with failing_with(ExitCode.USAGE):
        for name in names:
            scheme_of(name)
    with failing_with(ExitCode.INPUT):
        machine = read_cluster(cluster)
    with failing_with(ExitCode.USAGE):
        machine = machine.changed(_settings(settings or []))
    if table is not None:
        _write_errors(machine, max(n_repeats, 2), seed, table, force)
        return
    workloads = {name: _workload(name, calibrate, repeats_of_compute, n_frames) for name in names}
    with failing_with(ExitCode.USAGE):
        if ratio is not None:
            workloads = {name: workload.with_ratio(ratio) for name, workload in workloads.items()}
        scalings = {name: scaling(machine, workloads[name], SCHEMES[name], numbers, n_repeats, seed) for name in names}
    points = (
        {} if calibrate or n_frames or ratio is not None or cluster != "comet" else _points(names, repeats_of_compute)
    )
    _print(scalings, points, machine)
    if output is not None:
        _write_table(scalings, output, force, machine)
    if plot is not None:
        _draw(scalings, points, f"{workloads[names[0]].title} on {machine.title}", plot, force)


def _check(path: Path, force: bool) -> None:
    """Check an output before the simulation."""
    from mdreel.foundation.atomic_files import check_target
    from mdreel.results.figure import EXTENSIONS, check_figure
    from mdreel.results.files import check_output

    ending = path.suffix.lower()
    with checking_output(path):
        if ending == ".md":
            check_target(path, force)
        elif ending in EXTENSIONS:
            check_figure(path, force)
        else:
            check_output(path, force)


def _numbers(text: str) -> list[int]:
    """Parse numbers of ranks."""
    try:
        numbers = sorted({int(part) for part in text.split(",")})
    except ValueError:
        numbers = []
    if not numbers or numbers[0] < 1:
        raise CommandError(f"--ranks {text}: must be positive integers, separated by commas", ExitCode.USAGE)
    return numbers


def _settings(texts: list[str]) -> dict[str, float]:
    """Parse parameters of a cluster."""
    found = {}
    for text in texts:
        name, _, number = text.partition("=")
        try:
            found[name.strip()] = float(number)
        except ValueError:
            raise CommandError(f"--set {text}: must have the form NAME=NUMBER", ExitCode.USAGE) from None
    return found


def _workload(scheme: str, record: Path | None, times: int, n_frames: int | None) -> "Workload":
    """Return the workload of a scheme, from a record or the published values."""
    from mdreel_lab.prediction.calibrate import workload_of
    from mdreel_lab.prediction.published import published_workload, series_of

    if record is not None:
        from mdreel.timing.files import read_record

        with failing_with(ExitCode.INPUT):
            workload = workload_of(read_record(record).timing, record.name)
        workload = workload.repeated(times) if times > 1 else workload
    elif times > 1 and (series := series_of(scheme, times)) is not None:
        workload = series.workload
    else:
        workload = published_workload(scheme)
        workload = workload.repeated(times) if times > 1 else workload
    return workload if n_frames is None else workload.of_length(n_frames)


def _points(names: list[str], times: int) -> "dict[str, Series]":
    from mdreel_lab.prediction.published import series_of

    found = {name: series_of(name, times) for name in names}
    return {name: series for name, series in found.items() if series is not None}


def _print(scalings: "dict[str, Scaling]", points: "dict[str, Series]", machine: "Cluster") -> None:
    """Print the simulated scaling."""
    from mdreel_lab.prediction.schemes import SCHEMES

    echo(f"Simulated, not measured: {machine.title}")
    for name, simulated in scalings.items():
        echo(f"\n{name}: {SCHEMES[name].title}")
        echo(f"{'ranks':>8} {'t_total (s)':>12} {'S':>9} {'±':>7} {'E':>6} {'slow':>5}   published S")
        rows = zip(
            simulated.n_ranks.tolist(),
            simulated.mean_t_total,
            simulated.speedup,
            simulated.speedup_deviation,
            simulated.efficiency,
            simulated.slow,
            strict=True,
        )
        for n, t_total, speedup, deviation, efficiency, slow in rows:
            is_known = name in points and n in points[name].n_ranks
            known = f"{points[name].speedup(n):13.1f}" if is_known else ""
            simulated_row = f"{n:>8} {t_total:>12.4g} {speedup:>9.1f} {deviation:>7.1f} {efficiency:>6.2f} {slow:>5.2f}"
            echo(f"{simulated_row} {known}".rstrip())


def _write_table(scalings: "dict[str, Scaling]", path: Path, force: bool, machine: "Cluster") -> None:
    from mdreel.results.column import Column
    from mdreel.results.files import write

    first = next(iter(scalings.values()))
    columns = [Column("ranks", "", first.n_ranks)]
    for name, simulated in scalings.items():
        heading = name.replace("-", "_")
        columns += [
            Column(f"simulated_t_total_{heading}", "s", simulated.mean_t_total),
            Column(f"simulated_speedup_{heading}", "", simulated.speedup),
            Column(f"simulated_efficiency_{heading}", "", simulated.efficiency),
            Column(f"simulated_slow_share_{heading}", "", simulated.slow),
        ]
    with failing_with(ExitCode.OUTPUT):
        write(path, columns, {"title": f"Simulated, not measured: {machine.title}"}, force)


def _draw(scalings: "dict[str, Scaling]", points: "dict[str, Series]", title: str, path: Path, force: bool) -> None:
    from mdreel.results.figure import save
    from mdreel_lab.prediction.figure import draw

    with failing_with(ExitCode.OUTPUT):
        save(draw(scalings, points, title), path, force)


def _write_errors(machine: "Cluster", n_repeats: int, seed: int, path: Path, force: bool) -> None:
    """Write the table of errors."""
    from mdreel.foundation.atomic_files import replacing
    from mdreel_lab.prediction.table import markdown, median_error, rows

    with failing_with(ExitCode.USAGE):
        found = rows(machine, n_repeats, seed)
    with failing_with(ExitCode.OUTPUT), replacing(path, force) as temporary:
        temporary.write_text(markdown(found), encoding="utf-8")
    echo(f"{path}: {len(found)} points, median error of S(N) {100 * median_error(found):.0f} %", err=True)
