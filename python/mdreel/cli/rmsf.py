"""``mdreel rmsf``: how far each atom moves about its mean position."""

from typing import TYPE_CHECKING

from mdreel.cli.analysing import Question, Request, Table, analysis_command

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup

    from mdreel._core import Source
    from mdreel.analysis.rmsf import RMSF

EXAMPLES = """\b
Examples:
  mdreel rmsf -s adk.psf -f adk.xtc -o rmsf.csv --plot rmsf.png
  mdreel rmsf -s adk.psf -f adk.xtc --select backbone --step 10
"""


@analysis_command("protein and name CA", "Fluctuation of each atom.", EXAMPLES)
def rmsf(request: Request) -> Question:
    """Root mean square fluctuation of each atom about its mean position, without superposition."""

    def prepare(atoms: "AtomGroup", source: "Source") -> "RMSF":
        from mdreel.analysis.rmsf import RMSF

        return RMSF(atoms, trajectory=source)

    return Question("RMSF", prepare, _table, {})


def _table(analysis: "RMSF") -> Table:
    import numpy as np

    from mdreel.results.column import Column

    atoms, values = analysis.atomgroup, analysis.results.rmsf
    lowest, highest = int(values.argmin()), int(values.argmax())
    named = [f"{atoms[i].name} of {atoms[i].resname} {atoms[i].resid}" for i in (lowest, highest)]
    return Table(
        [
            Column("atom", "", atoms.ix.astype(np.int64)),
            Column("resid", "", atoms.resids.astype(np.int64)),
            Column("rmsf", "Å", values),
        ],
        "\n".join(
            (
                f"atoms       {len(values):>10,}   {analysis.n_frames:,} frames",
                f"RMSF lowest {values[lowest]:>10.3f} Å  {named[0]}",
                f"     mean   {values.mean():>10.3f} Å",
                f"     highest{values[highest]:>10.3f} Å  {named[1]}",
            )
        ),
        lambda title: analysis.plot(title=title),
    )
