"""Comparison of structural analyses with MDAnalysis, mdtraj and GROMACS."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import MDAnalysis
import mdtraj
import numpy as np
from comparison import ANGLE, EXACT, SINGLE, Compared, apart, apart_round, loaded_by_mdtraj, systems
from MDAnalysis.analysis import dihedrals, rms
from MDAnalysis.lib.distances import distance_array
from MDAnalysisTests import datafiles

import mdreel
from mdreel.analysis.topology.torsions import torsions_of


def compare(folder: Path) -> Iterator[Compared]:
    """Run all comparisons with files in a folder."""
    for name, universe, protein in systems():
        yield from with_mdanalysis(name, universe, protein)
        yield from with_mdtraj(name, universe, protein, folder)
    if shutil.which("gmx") is None:
        print("gmx is not installed: not compared", file=sys.stderr)
    else:
        yield from with_gmx(folder)


def with_mdanalysis(name: str, universe: MDAnalysis.Universe, protein: MDAnalysis.AtomGroup) -> Iterator[Compared]:
    """Compare with MDAnalysis."""
    alpha, backbone = protein.select_atoms("name CA"), protein.select_atoms("backbone")
    triclinic = universe.dimensions is not None and (universe.dimensions[3:] != 90).any()
    images = "the peer searches for images in single precision" if triclinic else ""

    def compared(analysis: str, found: float, bound: float, unit: str, note: str = "") -> Compared:
        return Compared(analysis, name, "MDAnalysis", found, bound, unit, note)

    for title, atoms, weights in (("RMSD", alpha, None), ("RMSD, weighted by mass", backbone, "mass")):
        ours = mdreel.RMSD(atoms, weights=weights).run().results.rmsd[:, 2]
        theirs = rms.RMSD(atoms, weights=weights).run().results.rmsd[:, 2]
        # The RMSD of the first frame from itself is up to 1e-6 Å with MDAnalysis.
        yield compared(title, apart(ours[1:], theirs[1:]), EXACT, "Å")
    universe.trajectory[0]
    reference = alpha.positions
    ours = mdreel.RMSD(alpha, superposition=False).run().results.rmsd[:, 2]
    theirs = [rms.rmsd(alpha.positions, reference) for _ in universe.trajectory]
    yield compared("RMSD, without superposition", apart(ours, theirs), EXACT, "Å")
    ours, theirs = mdreel.RMSF(protein).run(), rms.RMSF(protein).run()
    yield compared("RMSF", apart(ours.results.rmsf, theirs.results.rmsf), EXACT, "Å")
    theirs = [protein.radius_of_gyration() for _ in universe.trajectory]
    yield compared("Radius of gyration", apart(mdreel.Rg(protein).run().results.rgyr[:, 2], theirs), EXACT, "Å")
    quadruples = torsions_of(protein, ["phi", "psi", "omega", "chi1"]).atoms
    groups = [universe.atoms[four] for four in quadruples[::7]]
    ours, theirs = mdreel.Dihedral(groups).run(), dihedrals.Dihedral(groups).run()
    bound = 1e-3 if triclinic else ANGLE
    yield compared("Dihedral angles", apart_round(ours.results.angles, theirs.results.angles), bound, "degrees", images)
    first, second = alpha[::3], alpha[1::3]
    pbc = {"pbc": universe.dimensions is not None}
    for title, options, box in (("Distance array", {}, False), ("Distance array, images", pbc, True)):
        ours = mdreel.DistanceArray(first, second, **options).run().results.distances
        theirs = [
            distance_array(first.positions, second.positions, box=universe.dimensions if box else None)
            for _ in universe.trajectory
        ]
        note = "the peer computes in single precision"
        yield compared(title, apart(ours, theirs), SINGLE, "Å", note)
    contacts = mdreel.DistanceArray(first, second, cutoff=8.0).run().results.contact_frequency * len(
        universe.trajectory
    )
    counted = sum((distance_array(first.positions, second.positions) < 8.0).astype(int) for _ in universe.trajectory)
    yield compared("Contacts below 8 Å, counted", apart(contacts.round(), counted), 0, "frames")
    segments = [alpha.select_atoms(f"resid {residues}") for residues in ("13:24", "31:40", "61:73")]
    for squared in (False, True):
        ours = mdreel.HelixEigenvalues(segments, pairs=True, squared=squared).run()
        theirs = [
            [
                np.linalg.norm(distance_array(segments[i].positions, segments[j].positions) ** (1 + squared), 2)
                for i, j in ours.pairs
            ]
            for _ in universe.trajectory
        ]
        title = f"Helix eigenvalues, pairs{', squared' if squared else ''}"
        relative = apart(ours.results.eigenvalues / np.array(theirs), 1.0)
        yield Compared(title, name, "NumPy with MDAnalysis distances", relative, EXACT, "relative")


def with_mdtraj(
    name: str, universe: MDAnalysis.Universe, protein: MDAnalysis.AtomGroup, folder: Path
) -> Iterator[Compared]:
    """Compare with mdtraj, which computes in single precision, in nm."""
    note = "the peer computes in single precision"
    alone, loaded = loaded_by_mdtraj(universe, protein, folder)
    alpha = alone.select_atoms("name CA")
    theirs = 10 * mdtraj.rmsd(loaded, loaded, 0, atom_indices=alpha.ix)
    # In single precision, the RMSD of a frame from itself, a square root of rounding errors, is about 1e-3.
    yield Compared(
        "RMSD", name, "mdtraj", apart(mdreel.RMSD(alpha).run().results.rmsd[1:, 2], theirs[1:]), 1e-3, "Å", note
    )
    for kind in ("phi", "psi", "omega", "chi1", "chi2", "chi3", "chi4"):
        four, angles = getattr(mdtraj, f"compute_{kind}")(loaded)
        expected = dict(zip(map(tuple, four.tolist()), np.degrees(angles.T), strict=True))
        ours = mdreel.Dihedrals(alone.atoms, [kind]).run()
        found = dict(zip(map(tuple, ours.quadruples.tolist()), ours.results.angles.T, strict=True))
        if name.endswith("cut"):  # mdtraj treats the residues on both sides of a gap as neighbours
            expected = {four: expected[four] for four in found}
        assert set(found) == set(expected), (name, kind)
        difference = apart_round([found[four] for four in expected], list(expected.values()))
        yield Compared(f"Torsion {kind}", name, "mdtraj", difference, 5e-2, "degrees", note)


def with_gmx(folder: Path) -> Iterator[Compared]:
    """Compare with GROMACS, which prints six digits of nm."""
    from MDAnalysis.transformations import unwrap

    universe = MDAnalysis.Universe(datafiles.TPR, datafiles.XTC)
    protein = universe.select_atoms("protein")
    universe.trajectory.add_transformations(unwrap(protein))  # gmx does so by default
    whole, first = folder / "whole.xtc", folder / "first.gro"
    universe.atoms.write(whole, frames="all")
    universe.trajectory[0]
    universe.atoms.write(first)
    alpha = protein.select_atoms("name CA")
    reference = MDAnalysis.Universe(first).select_atoms("protein and name CA")
    radii = mdreel.Rg(protein, trajectory=whole).run().results.rgyr[:, 2:]
    distances = mdreel.RMSD(alpha, reference, trajectory=whole).run().results.rmsd[:, 2:]
    for command, structure, answer, title, ours, bound, note in (
        ("gyrate", datafiles.TPR, "Protein", "Radius of gyration", radii, 1e-3, "the peer prints six digits of nm"),
        ("rms", first, "C-alpha\nC-alpha", "RMSD", distances, 1e-3, "the peer computes in single precision, in nm"),
    ):
        output = folder / f"{command}.xvg"
        arguments = ["gmx", command, "-s", structure, "-f", whole, "-o", output]
        subprocess.run(arguments, input=f"{answer}\n", text=True, check=True, capture_output=True, cwd=folder)
        lines = [line for line in output.read_text().splitlines() if line[0] not in "#@"]
        theirs = 10 * np.array([line.split()[1:] for line in lines], float)
        yield Compared(title, "AdK in water", "gmx", apart(ours, theirs), bound, "Å", note)
