"""Command ``mdreel survival``, which computes how long atoms stay in a shell."""

from typing import TYPE_CHECKING, Annotated

from mdreel.cli.analyses.request import AnalysisSpec, Request, Table, analysis_command
from mdreel.cli.options import shells
from mdreel.cli.options.declare import Option

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup

    from mdreel._core import Source
    from mdreel.analysis.hydration.survival_probability import SurvivalProbability

EXAMPLES = """\
Examples:
  mdreel survival -s system.tpr -f run.xtc --dynamic "name OW and around 3.5 protein" -o stay.csv --plot stay.png
  mdreel survival -s system.tpr -f run.xtc --dynamic "resname SOL and around 4 resname LIG" --residues --tau-max 50
"""


@analysis_command("all", EXAMPLES)
def survival(
    request: Request,
    dynamic: shells.Dynamic = None,
    tau_max: shells.TauMax = 20,
    window_step: Annotated[int, Option(metavar="N", minimum=1, help="Frames between the starts of two windows.")] = 1,
    intermittency: Annotated[
        int, Option(metavar="N", minimum=0, help="Maximum number of consecutive frames in which an atom can be absent.")
    ] = 0,
    residues: Annotated[bool, Option(help="Residues stay as long as one of their atoms is selected.")] = False,
) -> AnalysisSpec:
    """Compute the probability that atoms stay in a shell, and their mean residence time."""
    shell = shells.checked_dynamic(dynamic)

    def prepare(atoms: "AtomGroup", source: "Source") -> "SurvivalProbability":
        from mdreel.analysis.hydration.survival_probability import SurvivalProbability

        return SurvivalProbability(atoms, shell, tau_max, window_step, intermittency, residues, trajectory=source)

    facts = {"dynamic": shell, "window_step": window_step, "intermittency": intermittency, "residues": residues}
    return AnalysisSpec("Survival probability", prepare, _table, facts)


def _table(analysis: "SurvivalProbability") -> Table:
    from mdreel.analysis.hydration.decay_time import decay_line

    results = analysis.results
    lines = [
        f"selected    {results.counts.mean():>10.1f}   atoms on average in {analysis.n_frames:,} frames",
        decay_line("residence time", analysis.residence_time),
    ]
    return Table.of(analysis, *lines)
