"""The command ``mdreel correlation``, which computes the autocorrelation of table columns and standard errors."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from mdreel.cli.analyses.request import by_ending
from mdreel.cli.errors import CommandError, ExitCode, checking_output, failing_with
from mdreel.cli.options import shared
from mdreel.cli.options.declare import Argument, Option, command
from mdreel.cli.output import echo

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from mdreel.results.column import Column

EXAMPLES = """\
Examples:
  mdreel rg -s adk.psf -f adk.xtc -o rg.csv
  mdreel correlation rg.csv --column rg -o correlation.csv --plot correlation.png
  mdreel correlation gyrate.xvg --max-lag 500
"""
_TIMES = ("ps", "ns", "us")


@command(examples=EXAMPLES)
def correlation(
    table: Annotated[
        Path, Argument(metavar="TABLE", help="Table with one row per frame: .csv .json .npz .parquet .xvg")
    ],
    names: Annotated[
        list[str] | None,
        Option(
            "--column",
            metavar="NAME",
            help="Name of a column, without its unit. Can be repeated.  [default: all except frame and time]",
        ),
    ] = None,
    max_lag: Annotated[
        int | None, Option(metavar="N", minimum=0, help="Longest lag, in frames.  [default: all frames]")
    ] = None,
    normalize: Annotated[bool, Option("--normalize/--no-normalize", help="Divide by the value at lag 0.")] = True,
    subtract_mean: Annotated[
        bool, Option("--subtract-mean/--keep-mean", help="Correlate deviations from the mean.")
    ] = True,
    output: shared.Output = None,
    plot: shared.Plot = None,
    time_unit: shared.TimeUnit = None,
    force: shared.Force = False,
) -> None:
    """Compute the autocorrelation of table columns, the number of frames per independent sample, and errors."""
    from mdreel.results.figure import check_figure, save
    from mdreel.results.files import check_output, write
    from mdreel.results.read_table import read_table
    from mdreel.results.shown_units import ShownUnits

    tables, plots = by_ending(output, plot)
    if len({path.resolve() for path in (*tables, *plots)}) < len(tables) + len(plots):
        raise CommandError("two outputs have the same name", ExitCode.USAGE)
    for path in tables:
        with checking_output(path):
            check_output(path, force)
    for path in plots:
        with checking_output(path):
            check_figure(path, force)
    shown = ShownUnits(time=time_unit)
    with failing_with(ExitCode.INPUT):
        found = read_table(table)
        chosen = _chosen(table, found, names)
        lags, columns = _correlated(table, found, chosen, max_lag, normalize, subtract_mean)
    if not tables:
        echo("\n".join(line for column in chosen for line in _summary(column)))
    metadata: dict[str, str | int | float | bool] = {
        "title": "Autocorrelation",
        "table": str(table),
        "subtract_mean": subtract_mean,
    }
    with failing_with(ExitCode.OUTPUT):
        for path in tables:
            write(path, shown.columns([*lags, *columns]), metadata, force)
        if plots:
            figure = shown.figure(_figure(lags, columns, table.name))
            for path in plots:
                save(figure, path, force)


def _chosen(path: Path, found: "Sequence[Column]", names: list[str] | None) -> "list[Column]":
    """Return the columns to correlate.

    Raises
    ------
    CommandError
        If a column does not exist, or if there are no columns except frame and time.
    """
    series = {one.name: one for one in found if one.name not in ("frame", "time")}
    for name in names or ():
        if name not in series:
            raise CommandError(f"{path}: there is no column {name!r}; columns: {', '.join(series)}", ExitCode.INPUT)
    if not series:
        raise CommandError(f"{path}: there is no column besides frame and time", ExitCode.INPUT)
    return [series[name] for name in dict.fromkeys(names or series)]


def _correlated(
    path: Path,
    found: "Sequence[Column]",
    chosen: "Sequence[Column]",
    max_lag: int | None,
    normalize: bool,
    subtract_mean: bool,
) -> "tuple[list[Column], list[Column]]":
    """Return the columns with lags, and the autocorrelation of each selected column.

    Raises
    ------
    MismatchError
        If the times are not evenly spaced, or if a value is not finite.
    """
    import numpy as np

    from mdreel.analysis.correlation import autocorrelation
    from mdreel.errors import MismatchError
    from mdreel.results.column import Column

    time = next((one for one in found if one.name == "time" and one.unit in _TIMES), None)
    frame = next((one for one in found if one.name == "frame"), None)
    if time is None and frame is None:
        raise MismatchError("a correlation needs a row per frame: the table has neither frame nor time", path=path)
    if time is None and frame is not None:
        _check_steps(path, frame, tolerance=0.0)
    columns = []
    for one in chosen:
        try:
            values = autocorrelation(one.values, max_lag=max_lag, normalize=normalize, subtract_mean=subtract_mean)
        except MismatchError as error:
            raise MismatchError(f"column {one.name!r}: {error}", path=path) from error
        unit = "" if normalize or not one.unit else f"({one.unit})^2" if "^" in one.unit else f"{one.unit}^2"
        columns.append(Column(f"{one.name}_correlation", unit, values))
    numbers = np.arange(len(columns[0].values))
    lags = [Column("lag", "", numbers)]
    if time is not None and len(time.values) > 1:
        steps = np.diff(time.values)
        step = abs(float(steps.mean()))
        # Times are rounded to float32 in files.
        _check_steps(path, time, min(1e-3 * step + 2.5e-7 * float(np.abs(time.values).max()), 0.4 * step))
        lags.append(_in_ps("lag_time", time.unit, numbers.astype(np.float64) * float(steps.mean())))
    return lags, columns


def _check_steps(path: Path, column: "Column", tolerance: float) -> None:
    """Check that frames or times increase in equal steps.

    Raises
    ------
    MismatchError
        If the steps are not equal.
    """
    import numpy as np

    from mdreel.errors import MismatchError

    steps = np.diff(column.values)
    if not len(steps) or ((np.abs(steps - np.median(steps)) <= tolerance).all() and np.median(steps) > 0):
        return
    place = int(np.abs(steps - np.median(steps)).argmax())
    unit = f" {column.unit}" if column.unit else ""
    message = f"in the column {column.name}, row {place + 1} is {steps[place]:g}{unit} before the next row"
    expected = f"expected the same positive step everywhere, such as {np.median(steps):g}{unit}"
    raise MismatchError(f"a correlation needs frames at equal intervals: {message}; {expected}", path=path)


def _in_ps(name: str, unit: str, values: "NDArray[np.float64]") -> "Column":
    """Return times in ps."""
    from mdreel.results.column import Column
    from mdreel.results.shown_units import TIMES

    return Column(name, "ps", values * 10.0 ** -TIMES[unit])


def _summary(column: "Column") -> list[str]:
    """Return lines with the mean of a column, its error, and the number of frames per independent sample."""
    import numpy as np

    from mdreel.analysis.correlation import block_averages, statistical_inefficiency
    from mdreel.errors import MismatchError

    values, n_frames = column.values.astype(np.float64), len(column.values)
    width = len(column.name)
    lines = [f"{column.name} mean  {values.mean():>12.6g} {column.unit}   {n_frames:,} frames"]
    try:
        inefficiency = statistical_inefficiency(values)
        blocks = block_averages(values)
    except MismatchError as error:
        return [*lines, f"{'':{width}} error none: {error}"]
    spread = float(np.sqrt(inefficiency * values.var() / n_frames))
    return [
        *lines,
        f"{'':{width}} error {spread:>12.3g} {column.unit}   from {inefficiency:.4g} frames per independent sample",
        f"{'':{width}}       {blocks.errors.max():>12.3g} {column.unit}   largest of block averages",
    ]


def _figure(lags: "Sequence[Column]", columns: "Sequence[Column]", title: str) -> "Figure":
    """Plot the correlations as a function of the lag."""
    import numpy as np

    from mdreel.results.curves import lines

    names = [one.name.removesuffix("_correlation") for one in columns]
    values = np.stack([one.values for one in columns], axis=1).astype(np.float64)
    unit = columns[0].unit if len({one.unit for one in columns}) == 1 else ""
    label = f"Correlation ({unit})" if unit else "Correlation"
    figure = lines(lags[-1].values.astype(np.float64), values, names, label, title, kind="Column")
    if len(lags) == 1:
        figure.axes[0].set_xlabel("Lag (frames)")
    else:
        figure.axes[0].set_xlabel(figure.axes[0].get_xlabel().replace("Time", "Lag time"))
    return figure
