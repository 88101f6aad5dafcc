"""The command ``mdreel dihedral``, which computes dihedral angles between any four atoms over time."""

from typing import TYPE_CHECKING, Annotated

from mdreel.cli.analyses.request import AnalysisSpec, Request, analysis_command
from mdreel.cli.analyses.torsion_table import torsion_table
from mdreel.cli.errors import CommandError, ExitCode
from mdreel.cli.options.declare import Option

if TYPE_CHECKING:
    from collections.abc import Iterator

    from MDAnalysis import AtomGroup, Universe

    from mdreel._core import Source
    from mdreel.analysis.dihedrals import Dihedral

EXAMPLES = """\
Examples:
  mdreel dihedral -s adk.psf -f adk.xtc --atoms "resid 4 and name C" --atoms "resid 5 and name N" \\
      --atoms "resid 5 and name CA" --atoms "resid 5 and name C" -o phi.csv
  mdreel dihedral -s ligand.pdb -f run.xtc -n torsions.ndx --group Torsions -o torsions.csv --plot torsions.png
"""


@analysis_command("all", EXAMPLES)
def dihedral(
    request: Request,
    atoms: Annotated[
        list[str] | None,
        Option(
            metavar="SELECTION",
            help="One atom of an angle. Use the option four times for each angle, in the order of the atoms.",
        ),
    ] = None,
    groups: Annotated[
        list[str] | None,
        Option(
            "--group",
            metavar="NAME",
            help="Group in the index file, in which every four consecutive atoms define an angle. Can be repeated.",
        ),
    ] = None,
) -> AnalysisSpec:
    """Compute the dihedral angles of any four atoms in each frame."""
    if not atoms and not groups:
        raise CommandError("name the atoms: --atoms four times for each angle, or --group with -n", ExitCode.USAGE)
    if atoms and len(atoms) % 4:
        message = f"each angle needs --atoms four times, but it is given {len(atoms)} times"
        raise CommandError(message, ExitCode.USAGE)
    if groups and request.index is None:
        raise CommandError("--group needs an index file: give one with -n", ExitCode.USAGE)

    def prepare(chosen: "AtomGroup", source: "Source") -> "Dihedral":
        from mdreel.analysis.dihedrals import Dihedral
        from mdreel.errors import MismatchError

        universe, path = chosen.universe, str(request.topology)
        found = [*_selected(universe, atoms or [], path), *_grouped(universe, groups or [])]
        for quadruple in found:
            if not set(quadruple.ix) <= set(chosen.ix):
                message = f"the angle of atoms {_name_of(quadruple)} has an atom outside the selection"
                raise MismatchError(f"{message} '{request.selection}'")
        names = [_name_of(quadruple) for quadruple in found]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise MismatchError(f"the angle of atoms {twice} is given twice")
        return Dihedral(found, trajectory=source)

    facts = {"atoms": "; ".join(atoms or []), "groups": "; ".join(groups or [])}
    return AnalysisSpec("Dihedral angles", prepare, torsion_table, {name: text for name, text in facts.items() if text})


def _selected(universe: "Universe", selections: list[str], path: str) -> "Iterator[AtomGroup]":
    """Yield the atoms of each angle that is specified by four selections."""
    from mdreel.analysis.topology.topology_file import select_atoms
    from mdreel.errors import SelectionError

    single = [select_atoms(universe, selection, path) for selection in selections]
    for selection, found in zip(selections, single, strict=True):
        if len(found) > 1:
            raise SelectionError(f"selection '{selection}' matches {len(found):,} atoms: --atoms names one atom")
    for first in range(0, len(single), 4):
        yield sum(single[first + 1 : first + 4], single[first])


def _grouped(universe: "Universe", names: list[str]) -> "Iterator[AtomGroup]":
    """Yield the atoms of each angle that is specified by groups from the index file."""
    from mdreel.errors import MismatchError

    for name in names:
        indices = universe.index[name]
        if len(indices) % 4:
            raise MismatchError(f"group {name!r} has {len(indices)} atoms: expected four for each angle")
        for quadruple in indices.reshape(-1, 4):
            yield universe.atoms[quadruple]


def _name_of(quadruple: "AtomGroup") -> str:
    return " ".join(map(str, quadruple.ix))
