"""The command ``mdreel rmsd``, which computes the minimum RMSD of a selection over time."""

import re
from typing import TYPE_CHECKING, Annotated

from mdreel.cli.analyses.request import AnalysisSpec, Request, Table, analysis_command, check_reference
from mdreel.cli.errors import CommandError, ExitCode
from mdreel.cli.options import shared
from mdreel.cli.options.declare import Option

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup

    from mdreel._core import Source
    from mdreel.analysis.rmsd import RMSD


_NAMED = re.compile(r"([^\W\d][\w-]*)=(?!=)(.*)", re.DOTALL)
"""A selection with a name. A comparison of MDAnalysis, as in ``prop x==3``, has a space before its first word."""

EXAMPLES = """\
Examples:
  mdreel rmsd -s adk.psf -f adk.xtc -o rmsd.csv --plot rmsd.png
  mdreel rmsd -s adk.psf -f adk.dcd --select backbone -b 1000 -dt 10 -nt 4
  mdreel rmsd -s adk.psf -f adk.xtc --select "name CA and resid 1:29" --group "LID=name CA and resid 122:159"
  mdreel rmsd -s adk.psf -f running.xtc --follow --end-file running.done -o rmsd.csv
  mdreel rmsd -s adk.psf --channel run1 -o rmsd.csv
"""


@analysis_command("protein and name CA", EXAMPLES)
def rmsd(
    request: Request,
    reference: shared.Reference = None,
    reference_frame: shared.ReferenceFrame = None,
    weights: shared.Weights = "none",
    superposition: shared.Superposition = True,
    group: Annotated[
        list[str] | None,
        Option(
            metavar="[NAME=]SELECTION",
            help="Also compute the RMSD of these atoms after the same superposition. The plot and the table use the "
            "name. Can be repeated.",
        ),
    ] = None,
    match_atoms: shared.MatchAtoms = True,
    tol_mass: shared.MassTolerance = 0.1,
) -> AnalysisSpec:
    """Compute the minimum RMSD of a selection from a reference in each frame."""
    check_reference(reference, reference_frame)
    groups = _named_groups(group or [])

    def prepare(atoms: "AtomGroup", source: "Source") -> "RMSD":
        from mdreel.analysis.rmsd import RMSD
        from mdreel.analysis.topology.topology_file import open_topology, select_atoms

        return RMSD(
            atoms,
            None
            if reference is None
            else select_atoms(open_topology(reference, request.index, is_reference=True), request.selection, reference),
            ref_frame=reference_frame or 0,
            weights="mass" if weights == "mass" else None,
            superposition=superposition,
            groupselections=groups,
            tol_mass=tol_mass,
            match_atoms=match_atoms,
            trajectory=source,
        )

    facts = {
        "weights": weights,
        "superposition": superposition,
        "reference": str(reference) if reference is not None else f"frame {reference_frame or 0}",
    }
    if group:
        facts["groups"] = "; ".join(group)
    return AnalysisSpec("RMSD", prepare, _table, facts)


def _named_groups(given: list[str]) -> list[str] | dict[str, str]:
    """Return selections by name, or a list of selections if no selection has a name.

    Raises
    ------
    CommandError
        If two groups have the same name.
    """
    found = [_NAMED.fullmatch(one) for one in given]
    if not any(found):
        return given
    names = [one if match is None else match[1] for one, match in zip(given, found, strict=True)]
    for name in names:
        if names.count(name) > 1:
            raise CommandError(f"--group: {name!r} is given twice: give each group another name", ExitCode.USAGE)
    selections = [one if match is None else match[2] for one, match in zip(given, found, strict=True)]
    return dict(zip(names, selections, strict=True))


def _table(analysis: "RMSD") -> Table:
    from mdreel.results.series import series_summary

    _, time, values, *groups = analysis.results.rmsd.T
    means = [f"group {i}: mean {column.mean():.3f} Å  {analysis.names[i]}" for i, column in enumerate(groups, 1)]
    return Table.of(analysis, series_summary("RMSD", "Å", time, values), *means)
