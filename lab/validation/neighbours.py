"""Comparison of pair counts, contacts and hydrogen bonds with MDAnalysis, mdtraj and GROMACS."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import MDAnalysis
import mdtraj
import numpy as np
from comparison import SINGLE, Compared, apart, systems
from MDAnalysis.analysis import contacts, rdf
from MDAnalysis.analysis.hydrogenbonds.hbond_analysis import HydrogenBondAnalysis

import mdreel

SHARE = 1e-3  # share of the pairs of a frame that single precision may move to the next bin


def compare(folder: Path) -> Iterator[Compared]:
    """Run all comparisons with files in a folder."""
    for name, universe, protein in systems():
        yield from distributions(name, universe, protein, folder)
        yield from shares(name, universe, protein)
        yield from bonds(name, universe)


def distributions(
    name: str, universe: MDAnalysis.Universe, protein: MDAnalysis.AtomGroup, folder: Path
) -> Iterator[Compared]:
    """Compare counts of pairs of atoms."""
    first = universe.select_atoms("name OW") if "water" in name else protein
    second = protein.select_atoms("name N")
    options = {"nbins": 50, "range": (0.0, 12.0), "norm": "none"}
    ours = mdreel.InterRDF(first, second, **options).run().results
    theirs = rdf.InterRDF(first, second, **options).run().results
    note = "the peer computes distances in single precision"
    moved = apart(ours.count, theirs.count) / ours.count.sum()
    yield Compared("Radial distribution, moved", name, "MDAnalysis", moved, SHARE, "of the pairs", note)
    if universe.dimensions is None:
        return
    options["norm"] = "rdf"
    ours = mdreel.InterRDF(first, second, **options).run().results
    theirs = rdf.InterRDF(first, second, **options).run().results
    yield Compared("Radial distribution", name, "MDAnalysis", apart(ours.rdf, theirs.rdf), SHARE, "", note)
    universe.trajectory[0]
    atoms, trajectory = first + second, folder / "pairs.xtc"
    atoms.write(trajectory, frames="all")
    topology = mdtraj.Topology()
    residue = topology.add_residue("ALL", topology.add_chain())
    for _ in range(len(atoms)):
        topology.add_atom("C", mdtraj.element.carbon, residue)
    loaded = mdtraj.load(trajectory, top=topology)
    pairs = np.stack(np.meshgrid(np.arange(len(first)), len(first) + np.arange(len(second))), axis=-1).reshape(-1, 2)
    counts = np.zeros(50)
    for frame in loaded:
        counts += np.histogram(10 * mdtraj.compute_distances(frame, pairs), 50, (0.0, 12.0))[0]
    moved = apart(ours.count, counts) / ours.count.sum()
    yield Compared("Radial distribution, moved", name, "mdtraj", moved, SHARE, "of the pairs", note)


def shares(name: str, universe: MDAnalysis.Universe, protein: MDAnalysis.AtomGroup) -> Iterator[Compared]:
    """Compare shares of native contacts."""
    acidic = protein.select_atoms("(resname ASP GLU) and name OE* OD*")
    basic = protein.select_atoms("(resname ARG LYS) and name NH* NZ")
    for method in ("hard_cut", "radius_cut", "soft_cut"):
        given = ((acidic, basic), (acidic, basic), method, 7.0)
        universe.trajectory[0]
        ours = mdreel.Contacts(universe, *given).run()
        universe.trajectory[0]
        theirs = contacts.Contacts(universe, *given).run()
        edge = "the peer uses single precision and may therefore count a contact at the cutoff differently"
        soft = method == "soft_cut"
        bound, note = (SINGLE, "the peer computes in single precision") if soft else (1 / ours.n_initial_contacts, edge)
        found = apart(ours.results.timeseries, theirs.results.timeseries)
        yield Compared(f"Native contacts, {method}", name, "MDAnalysis", found, bound, "", note)


def bonds(name: str, universe: MDAnalysis.Universe) -> Iterator[Compared]:
    """Compare hydrogen bonds of the protein."""
    where = "protein and not resid 50:60 and not resid 120:124" if name.endswith("cut") else "protein"
    options = {"hydrogens_sel": f"({where}) and (name HN H HH* HE* HD*)", "acceptors_sel": f"({where}) and name O*"}
    universe.trajectory[0]
    ours = mdreel.HydrogenBondAnalysis(universe, **options, update_selections=False).run()
    universe.trajectory[0]
    theirs = HydrogenBondAnalysis(universe, **options, update_selections=False).run()
    counted = apart(ours.count_by_time(), theirs.count_by_time())
    yield Compared("Hydrogen bonds, counted", name, "MDAnalysis", counted, 0, "bonds")
    found, expected = (
        hbonds[np.lexsort(hbonds[:, 3::-1].T)] for hbonds in (ours.results.hbonds, theirs.results.hbonds)
    )
    note = "the peer computes distances in single precision"
    yield Compared("Hydrogen bonds, atoms", name, "MDAnalysis", apart(found[:, :4], expected[:, :4]), 0, "")
    yield Compared(
        "Hydrogen bonds, distances", name, "MDAnalysis", apart(found[:, 4], expected[:, 4]), SINGLE, "Å", note
    )
    for intermittency in (0, 2):
        given = {"tau_max": min(20, ours.n_frames - 1), "intermittency": intermittency}
        moved = apart(ours.lifetime(**given), theirs.lifetime(**given))
        analysis = f"Hydrogen bonds, lifetime, {intermittency} away"
        yield Compared(analysis, name, "MDAnalysis", moved, 0, "", "bitwise identical")
