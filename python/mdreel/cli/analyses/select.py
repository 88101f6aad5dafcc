"""The command ``mdreel select``, which evaluates a selection in each frame, and computes residence times."""

from typing import TYPE_CHECKING, Annotated

from mdreel.cli.analyses.request import AnalysisSpec, Request, Table, analysis_command
from mdreel.cli.errors import CommandError, ExitCode
from mdreel.cli.options import shells
from mdreel.cli.options.declare import Option

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup

    from mdreel._core import Source
    from mdreel.analysis.selection import Selection

EXAMPLES = """\
Examples:
  mdreel select -s system.tpr -f run.xtc --dynamic "name OW and around 3.5 protein" -o shell.csv --plot shell.png
  mdreel select -s system.tpr -f run.xtc --dynamic "name OW and around 3.5 resname LIG" --survival 50 -o stay.csv
"""


@analysis_command("all", EXAMPLES)
def select(
    request: Request,
    dynamic: shells.Dynamic = None,
    list_atoms: Annotated[bool, Option("--list", help="Write one row per selected atom in each frame.")] = False,
    survival: Annotated[
        int | None,
        Option(
            metavar="N",
            minimum=1,
            help="Instead of the number of atoms, write the fraction of atoms that stay selected for up to N frames.",
        ),
    ] = None,
    intermittency: Annotated[
        int,
        Option(
            metavar="N",
            minimum=0,
            help="With --survival: maximum number of consecutive frames in which an atom can be absent.",
        ),
    ] = 0,
) -> AnalysisSpec:
    """Count or list the atoms that a selection matches in each frame, or compute how long they stay selected."""
    shell = shells.checked_dynamic(dynamic)
    if list_atoms and survival is not None:
        raise CommandError("--list and --survival are two tables: give one of them", ExitCode.USAGE)
    if intermittency and survival is None:
        raise CommandError("--intermittency requires --survival", ExitCode.USAGE)

    def prepare(atoms: "AtomGroup", source: "Source") -> "Selection":
        from mdreel.analysis.selection import Selection

        return Selection(atoms, shell, ids=list_atoms or survival is not None, trajectory=source)

    def tabulate(analysis: "Selection") -> Table:
        if survival is not None:
            return _table_of_survival(analysis, survival, intermittency)
        return _table(analysis, list_atoms)

    return AnalysisSpec("Selected atoms", prepare, tabulate, {"dynamic": shell, "intermittency": intermittency})


def _table(analysis: "Selection", list_atoms: bool) -> Table:
    import numpy as np

    from mdreel.results.column import Column
    from mdreel.results.series import series_columns, series_summary

    counts = analysis.results.counts
    columns = analysis.columns()
    if list_atoms:
        series = series_columns(np.repeat(analysis.frames, counts), np.repeat(analysis.times, counts))
        columns = [*series, Column("atom", "", analysis.results.ids.astype(np.int64))]
    return Table.of(
        analysis, series_summary("selected", "atoms", analysis.times, counts.astype(np.float64)), columns=columns
    )


def _table_of_survival(analysis: "Selection", longest: int, intermittency: int) -> Table:
    import numpy as np

    from mdreel.errors import MismatchError
    from mdreel.results.column import Column

    if longest > analysis.n_frames:
        raise MismatchError(f"--survival {longest} is more than the {analysis.n_frames} analysed frames")
    taus, shares = analysis.survival(longest, intermittency=intermittency)
    n_stays = len(analysis.residence_times(intermittency))
    return Table(
        [
            Column("frames", "", taus.astype(np.int64)),
            Column("lag_time", "ps", taus * analysis.interval),
            Column("still_selected", "", shares),
        ],
        f"stays    {n_stays:>10,}   of {len(np.unique(analysis.results.ids)):,} atoms",
        lambda title: analysis.plot_survival(longest, intermittency=intermittency, title=title),
    )
