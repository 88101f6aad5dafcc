"""``mdreel rmsd``: the minimum RMSD of a selection, over time."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mdreel.cli import options
from mdreel.cli.analysing import Question, Request, Table, analysis_command
from mdreel.cli.exits import CommandError, ExitCode
from mdreel.cli.weights import Weights

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup

    from mdreel._core import Source
    from mdreel.analysis.rmsd import RMSD


EXAMPLES = """\b
Examples:
  mdreel rmsd -s adk.psf -f adk.xtc -o rmsd.csv --plot rmsd.png
  mdreel rmsd -s adk.psf -f adk.dcd --select backbone -b 1000 -dt 10 -nt 4
  mdreel rmsd -s adk.psf -f adk.xtc --select "name CA and resid 1:29" --group "name CA and resid 122:159"
  mdreel rmsd -s adk.psf -f running.xtc --follow --end-file running.done -o rmsd.csv
  mdreel rmsd -s adk.psf --channel run1 -o rmsd.csv
"""


Reference = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        rich_help_panel=options.ANALYSIS,
        help="Structure to compare with; the same selection must have the same atoms.",
    ),
]
ReferenceFrame = Annotated[
    int | None,
    typer.Option(
        "--ref-frame",
        metavar="N",
        rich_help_panel=options.ANALYSIS,
        help="Frame of the trajectory to compare with.  [default: 0]",
    ),
]
MatchAtoms = Annotated[
    bool,
    typer.Option(
        "--match-atoms/--no-match-atoms",
        rich_help_panel=options.ANALYSIS,
        help="Refuse a reference whose atoms have other masses or come in another order.",
    ),
]
MassTolerance = Annotated[
    float,
    typer.Option(
        "--tol-mass",
        metavar="AMU",
        min=0,
        rich_help_panel=options.ANALYSIS,
        help="How far the masses of matching atoms may be apart.",
    ),
]
WeightsOption = Annotated[Weights, typer.Option("--weights", rich_help_panel=options.ANALYSIS, help="How atoms count.")]


def check_reference(reference: Path | None, reference_frame: int | None) -> None:
    """Refuse two references."""
    if reference is not None and reference_frame is not None:
        raise CommandError("give either --reference or --ref-frame, not both", ExitCode.USAGE)


@analysis_command("protein and name CA", "RMSD of a selection.", EXAMPLES)
def rmsd(
    request: Request,
    reference: Reference = None,
    reference_frame: ReferenceFrame = None,
    weights: WeightsOption = Weights.NONE,
    no_superposition: Annotated[
        bool,
        typer.Option(
            "--no-superposition",
            rich_help_panel=options.ANALYSIS,
            help="Compare positions as they are, without superimposing them first.",
        ),
    ] = False,
    group: Annotated[
        list[str] | None,
        typer.Option(
            "--group",
            metavar="SELECTION",
            rich_help_panel=options.ANALYSIS,
            help="Other atoms, whose RMSD after the same superposition is computed as well; may be repeated.",
        ),
    ] = None,
    match_atoms: MatchAtoms = True,
    tol_mass: MassTolerance = 0.1,
) -> Question:
    """Minimum RMSD of a selection to a reference, for every frame."""
    check_reference(reference, reference_frame)

    def prepare(atoms: "AtomGroup", source: "Source") -> "RMSD":
        from mdreel.analysis.rmsd import RMSD
        from mdreel.cli.system import open_topology, select

        return RMSD(
            atoms,
            None if reference is None else select(open_topology(reference), request.selection, reference),
            ref_frame=reference_frame or 0,
            weights="mass" if weights is Weights.MASS else None,
            superposition=not no_superposition,
            groupselections=group,
            tol_mass=tol_mass,
            match_atoms=match_atoms,
            trajectory=source,
        )

    facts = {
        "weights": weights.value,
        "superposition": not no_superposition,
        "reference": str(reference) if reference is not None else f"frame {reference_frame or 0}",
    }
    if group:
        facts["groups"] = "; ".join(group)
    return Question("RMSD", prepare, _table, facts)


def _table(analysis: "RMSD") -> Table:
    from mdreel.cli.series import series_columns, series_summary
    from mdreel.results.column import Column

    frame, time, values, *groups = analysis.results.rmsd.T
    others = [Column(f"rmsd_group_{i}", "Å", column) for i, column in enumerate(groups, 1)]
    means = [f"group {i}: mean {column.mean():.3f} Å  {analysis.names[i]}" for i, column in enumerate(groups, 1)]
    return Table(
        [*series_columns(frame, time), Column("rmsd", "Å", values), *others],
        "\n".join([series_summary("RMSD", "Å", time, values), *means]),
        lambda title: analysis.plot(title=title),
    )
