"""Commands refuse a reference whose atoms are in another order."""

import re
from pathlib import Path

import MDAnalysis
import numpy as np
import pytest
from MDAnalysisTests.datafiles import DCD, PSF

from mdreel.cli.commands import groups, load

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
COMMANDS = {"rmsd", "rmsf", "average", "align", "compare"}
"""The commands that take a structure as reference."""

SELECT = ("--select", "protein and resid 1:14")


@pytest.fixture(scope="module")
def references(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Structures of the peptide: as it is, with the atoms of each residue reversed, and with a name of another kind."""
    folder = tmp_path_factory.mktemp("references")
    atoms = MDAnalysis.Universe(PSF, DCD).select_atoms(SELECT[1])
    order = np.concatenate([residue.atoms.ix[::-1] for residue in atoms.residues])
    renamed = MDAnalysis.Merge(atoms)
    renamed.atoms.names = np.where(renamed.atoms.names == "HN", "H", renamed.atoms.names)
    written = {"same": atoms, "reversed": MDAnalysis.Merge(atoms.universe.atoms[order]).atoms, "renamed": renamed.atoms}
    paths = {name: folder / f"{name}.pdb" for name in written}
    for name, group in written.items():
        group.write(str(paths[name]))
    return paths


def test_every_command_with_a_reference_is_listed() -> None:
    """Fails for a new command that takes a structure as reference."""
    commands = {entry.name: load(entry) for entries in groups().values() for entry in entries}
    taking = {
        name
        for name, command in commands.items()
        for parameter in command.params
        if re.search(r"(^|_)ref(erence)?s?(_|$)", parameter.name) and not parameter.name.endswith("_frame")
    }
    assert taking == COMMANDS


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_command_refuses_a_reference_in_another_order(run, command: str, references: dict[str, Path]) -> None:
    own = {"rmsf": ("--superposition",), "compare": ("--score", "lddt")}.get(command, ())
    words = (command, "-s", PSF, "-f", DCD, *SELECT, *own, "--step", "40", "-q", "-o")
    output = "a.xtc" if command == "align" else "a.csv"
    done = run(*words, output, "--reference", references["reversed"])
    assert done.returncode == 3, done.stderr
    assert re.search(r"203 atoms do not match those of the reference.*--no-match-atoms", done.stderr)
    done = run(*words, output, "--reference", references["reversed"], "--no-match-atoms")
    assert (done.returncode, done.stderr) == (0, "")
    done = run(*words, output, "--force", "--reference", references["reversed"], "--tol-mass", "1000")
    assert (done.returncode, "are in another order" in done.stderr) == (3, True)
    done = run(*words, output, "--force", "--reference", references["same"])
    assert (done.returncode, done.stderr) == (0, "")
    done = run(*words, output, "--force", "--reference", references["renamed"])
    assert done.returncode == 0
    assert re.search(r"mdreel: warning: 12 of 203 atoms have another name .*HN of ARG 2", done.stderr)


def test_recipe_refuses_a_reference_in_another_order(run, tmp_path: Path, references: dict[str, Path]) -> None:
    recipe = tmp_path / "recipe.toml"
    lines = ["[[analysis]]", 'type = "rmsd"', f'select = "{SELECT[1]}"', f'reference = "{references["reversed"]}"']
    head = [f'topology = "{PSF}"', f'trajectory = "{DCD}"']
    for last, code in (([], 3), (["match-atoms = false"], 0)):
        recipe.write_text("\n".join([*head, *lines, *last]))
        done = run("run", recipe, "-q")
        assert done.returncode == code, done.stderr
