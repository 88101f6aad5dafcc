"""The command ``mdreel projection``, which projects frames on the first principal components."""

from typing import TYPE_CHECKING, Annotated

from mdreel.cli.analyses.request import AnalysisSpec, Request, Table, analysis_command
from mdreel.cli.errors import CommandError, ExitCode
from mdreel.cli.options import shared
from mdreel.cli.options.declare import Option

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup

    from mdreel._core import Source
    from mdreel.analysis.projection import Projection

EXAMPLES = """\
Examples:
  mdreel projection -s adk.psf -f adk.xtc --superposition -o projection.csv --plot plane.png
  mdreel projection -s adk.psf -f adk.xtc --superposition --components 10 --step 10 -o projection.parquet
"""


@analysis_command("protein and name CA", EXAMPLES)
def projection(
    request: Request,
    components: Annotated[int, Option(metavar="N", minimum=1, help="Number of components.")] = 2,
    superposition: shared.Superposition = False,
) -> AnalysisSpec:
    """Project each frame on the first principal components, which are computed from the same frames.

    The command reads the frames twice: once to compute the components, like `mdreel pca`, and once to compute the
    projections.
    """
    if request.channel is not None or request.follow:
        name = "--follow" if request.follow else "--channel"
        message = f"{name}: the projection reads the trajectory twice, which needs a complete trajectory"
        raise CommandError(message, ExitCode.USAGE)

    def prepare(atoms: "AtomGroup", source: "Source") -> "Projection":
        from mdreel.analysis.base.one_pass import run
        from mdreel.analysis.pca import PCA
        from mdreel.cli.analyses.runner import run_settings

        pca = PCA(atoms, align=superposition, trajectory=source)
        run([pca], **run_settings(request, source))
        return pca.projection(atoms, components, source)

    facts = {"superposition": superposition, "components": components}
    return AnalysisSpec("Projection on principal components", prepare, _table, facts, reads_twice=True)


def _table(analysis: "Projection") -> Table:
    from mdreel.results.series import series_summary

    values = analysis.results.projection.T[:5]
    summaries = [series_summary(f"pc{i}", "Å", analysis.times, one) for i, one in enumerate(values, 1)]
    return Table.of(analysis, *summaries)
