"""Comparison with packages that are not in the lock files: ``pip install biotite spyrmsd tmtools waterdynamics``.

Run ``python lab/validation/other_packages.py`` in an environment with mdreel and these packages.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import MDAnalysis
import numpy as np
from MDAnalysisTests import datafiles

from mdreel.analysis import LDDT, SurvivalProbability, SymmetricRMSD, TMScore, WaterOrientationalRelaxation

HERE = Path(__file__).parent
PACKAGES = ("MDAnalysis", "biotite", "spyrmsd", "tmtools", "waterdynamics")
STEP = 8
Row = tuple[str, str, float, str]


def main() -> None:
    """Compare, and write the table."""
    warnings.simplefilter("ignore")
    lines = [
        "# Agreement with packages that are not in the lock files",
        "",
        "`python lab/validation/other_packages.py` writes this table of the largest absolute differences.",
        "",
        "| Analysis | Peer | Largest difference | |",
        "|---|---|--:|---|",
    ]
    universe = MDAnalysis.Universe(datafiles.PSF, datafiles.DCD)
    water = MDAnalysis.Universe(datafiles.TPR, datafiles.XTC)
    for compare, system in (
        (_lddt, universe),
        (_tm_score, universe),
        (_tm_program, universe),
        (_symmetric, universe),
        (_survival, water),
    ):
        for analysis, peer, found, note in compare(system):
            lines.append(f"| {analysis} | {peer} | {found:.1e} | {note} |")
            print(lines[-1])
    for analysis, peer, found, note in _orientation(water):
        lines.append(f"| {analysis} | {peer} | {found:.1e} | {note} |")
        print(lines[-1])
    lines += ["", ", ".join(f"{name} {version(name)}" for name in PACKAGES) + "."]
    (HERE / "other_packages.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def apart(ours: object, theirs: object) -> float:
    """Return the largest difference."""
    return float(np.nanmax(np.abs(np.asarray(ours, float) - np.asarray(theirs, float))))


def _lddt(universe: MDAnalysis.Universe) -> Iterator[Row]:
    """Compare lDDT with biotite."""
    from biotite.structure import AtomArray, lddt

    for title, select in (("heavy atoms", "protein and not name H*"), ("CA atoms", "name CA")):
        atoms = universe.select_atoms(select)
        structures = []
        for _ in universe.trajectory[::STEP]:
            one = AtomArray(len(atoms))
            one.coord = atoms.positions
            one.res_id, one.res_name = atoms.resids, atoms.resnames.astype(str)
            one.atom_name, one.chain_id = atoms.names.astype(str), np.full(len(atoms), "A")
            one.element = np.array([name[0] for name in atoms.names])
            structures.append(one)
        run = LDDT(universe, select=select).run(step=STEP)
        theirs = [float(lddt(structures[0], one)) for one in structures]
        yield f"lDDT, {title}", "biotite", apart(run.results.lddt, theirs), "the peer computes in single precision"
        residues = [lddt(structures[0], one, aggregation="residue") for one in structures]
        note = "the peer computes in single precision"
        yield f"lDDT of residues, {title}", "biotite", apart(run.results.residue_lddt, residues), note


def _tm_score(universe: MDAnalysis.Universe) -> Iterator[Row]:
    """Compare the TM-score with TM-align, which also optimises the alignment."""
    import tmtools

    atoms = universe.select_atoms("name CA")
    reference, sequence = atoms.positions.astype(float), "A" * len(atoms)
    ours = TMScore(universe).run(step=STEP).results.tm_score
    theirs = []
    for _ in universe.trajectory[::STEP]:
        found = tmtools.tm_align(atoms.positions.astype(float), reference, sequence, sequence)
        theirs.append(found.tm_norm_chain2)
    differences = ours - np.array(theirs)
    span = f"{differences.min():.1e} to {differences.max():.1e}"
    note = f"TM-align also searches for the alignment; ours minus theirs: {span}"
    yield "TM-score", "tmtools (TM-align)", float(np.abs(differences).max()), note


def _tm_program(universe: MDAnalysis.Universe) -> Iterator[Row]:
    """Compare with the program TM-score (``TMscore``), if it is on the path."""
    program = shutil.which("TMscore")
    if program is None:
        print("TMscore is not installed: not compared")
        return
    atoms = universe.select_atoms("name CA")
    patterns = (r"TM-score\s*=\s*([\d.]+)", r"GDT-TS-score=\s*([\d.]+)", r"GDT-HA-score=\s*([\d.]+)")
    theirs = []
    with tempfile.TemporaryDirectory() as folder:
        frame, reference = (str(Path(folder) / name) for name in ("frame.pdb", "reference.pdb"))
        universe.trajectory[0]
        atoms.write(reference)
        for _ in universe.trajectory[::STEP]:
            atoms.write(frame)
            done = subprocess.run([program, frame, reference], capture_output=True, text=True, check=True)
            theirs.append([float(found.group(1)) for one in patterns if (found := re.search(one, done.stdout))])
    run = TMScore(universe).run(step=STEP).results
    notes = ("the peer writes four digits", *["the searches visit other superpositions"] * 2)
    for place, (name, note) in enumerate(zip(("tm_score", "gdt_ts", "gdt_ha"), notes, strict=True)):
        yield name, "TMscore", apart(run[name], np.array(theirs)[:, place]), note


def _symmetric(universe: MDAnalysis.Universe) -> Iterator[Row]:
    """Compare the symmetric RMSD with spyrmsd."""
    from spyrmsd import rmsd

    select = "resid 19 24 41 and not name H*"  # residues that are not bonded to each other
    atoms = universe.select_atoms(select)
    bonds = np.searchsorted(atoms.ix, np.asarray(atoms.intra_bonds.indices))
    adjacency = np.zeros((len(atoms), len(atoms)), int)
    adjacency[bonds[:, 0], bonds[:, 1]] = adjacency[bonds[:, 1], bonds[:, 0]] = 1
    numbers = np.array([{"C": 6, "N": 7, "O": 8, "S": 16}[name[0]] for name in atoms.names])
    frames = [atoms.positions.astype(float) for _ in universe.trajectory[::STEP]]
    for minimize in (False, True):
        theirs = rmsd.symmrmsd(frames[0], frames, numbers, numbers, adjacency, adjacency, minimize=minimize)
        ours = SymmetricRMSD(universe, select=select, superposition=minimize).run(step=STEP).results.rmsd
        title = "Symmetric RMSD, superposed" if minimize else "Symmetric RMSD"
        yield title, "spyrmsd", apart(ours, theirs), "Å"


def _survival(universe: MDAnalysis.Universe) -> Iterator[Row]:
    """Compare survival probabilities with waterdynamics."""
    import waterdynamics

    words = "name OW and around 3.5 protein"
    for intermittency, residues in ((0, False), (1, False), (0, True)):
        chosen = "byres (name OW and around 3.5 protein) and resname SOL" if residues else words
        peer = waterdynamics.SurvivalProbability(universe, chosen)
        peer.run(tau_max=4, intermittency=intermittency, residues=residues)
        run = SurvivalProbability(universe, chosen, 4, 1, intermittency, residues).run()
        title = f"Survival probability, intermittency {intermittency}" + ", residues" * residues
        yield title, "waterdynamics", apart(run.results.sp_timeseries, peer.sp_timeseries), ""


def _orientation(universe: MDAnalysis.Universe) -> Iterator[Row]:
    """Compare orientational relaxation with waterdynamics, for lengths that divide the number of frames."""
    import waterdynamics

    part = universe.select_atoms("protein or resname SOL")
    shell = "name OW and around 3.5 (resid 1:12 and protein)"
    for order in (1, 2):
        molecules = f"(byres ({shell})) and name OW HW1 HW2"
        peer = waterdynamics.WaterOrientationalRelaxation(universe, molecules, 0, 10, 2, order=order)
        peer.run()
        ours = WaterOrientationalRelaxation(part, shell, 2, order, None).run().results
        found = np.column_stack([ours.oh, ours.hh, ours.dipole])[1:]
        yield f"Orientational relaxation, order {order}", "waterdynamics", apart(found, peer.timeseries), "lags 1 and 2"


if __name__ == "__main__":
    main()
