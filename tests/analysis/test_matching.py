"""Tests of the correspondence of atoms in all analyses that compare two structures."""

import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import MDAnalysis
import numpy as np
import pytest

import mdreel
from every_analysis import analyses
from mdreel.errors import AtomOrderWarning, MismatchError
from peptide_system import peptide

pytestmark = pytest.mark.filterwarnings(
    "ignore::UserWarning", "ignore::DeprecationWarning", "error::mdreel.errors.AtomOrderWarning"
)
Atoms = MDAnalysis.AtomGroup
Paired = Callable[..., Any]


def reversed_in_residues() -> MDAnalysis.Universe:
    """Return the peptide with the atoms of each residue in reverse order."""
    return peptide(np.concatenate([residue.atoms.ix[::-1] for residue in peptide().residues]))


def changed(attribute: str, change: Callable[[np.ndarray], np.ndarray]) -> MDAnalysis.Universe:
    """Return the peptide with other values of an atom attribute."""
    universe = peptide()
    setattr(universe.atoms, attribute, change(getattr(universe.atoms, attribute)))
    return universe


def components(atoms: Atoms) -> mdreel.PCA:
    """Return the principal components of some atoms in two frames."""
    frames = np.stack([atoms.positions, atoms.positions + np.arange(len(atoms) * 3).reshape(-1, 3) % 7])
    universe = atoms.universe.copy()
    universe.load_new(frames.astype(np.float32))
    return mdreel.PCA(universe.atoms).run()


def aligned(mobile: Atoms, reference: Atoms, **options: Any) -> Any:
    return mdreel.AlignTraj(mobile.universe, reference.universe, filename="never-written.xtc", **options)


def grouped(mobile: Atoms, reference: Atoms, **options: Any) -> Any:
    chosen = (atoms.universe.select_atoms("name CA") for atoms in (mobile, reference))
    return mdreel.RMSD(*chosen, groupselections=["resid 2:9"], **options)


def matched(options: dict[str, Any]) -> dict[str, Any]:
    """Return options of a method that only warns by default, as MDAnalysis does."""
    return {"match_atoms": True, **options}


PAIRED: dict[str, Paired] = {
    "AlignTraj(reference)": aligned,
    "AverageStructure(reference)": lambda m, r, **o: mdreel.AverageStructure(m.universe, r.universe, **o),
    "Contacts(refgroup)": lambda m, r, **o: mdreel.Contacts(
        m.universe, (m, m.select_atoms("name CA")), (r, r.select_atoms("name CA")), **o
    ),
    "LDDT(reference)": lambda m, r, **o: mdreel.analysis.LDDT(m, r, "all", **o),
    "NativeContacts(reference)": lambda m, r, **o: mdreel.analysis.NativeContacts(m, r, "all", **o),
    "PCA.cumulative_overlap(other)": lambda m, r, **o: components(m).cumulative_overlap(components(r), **matched(o)),
    "PCA.projection(atomgroup)": lambda m, r, **o: components(r).projection(m, **o),
    "PCA.rmsip(other)": lambda m, r, **o: components(m).rmsip(components(r), **matched(o)),
    "PCA.transform(atomgroup)": lambda m, r, **o: components(r).transform(m, **matched(o)),
    "RMSD(groupselections)": grouped,
    "RMSD(reference)": mdreel.RMSD,
    "RMSF(reference)": lambda m, r, **o: mdreel.RMSF(m, superposition=True, reference=r, **o),
    "RMSF(superposition)": lambda m, r, **o: mdreel.RMSF(m[:1], superposition=m, reference=r, **o),
    "ResidueRMSD(reference)": lambda m, r, **o: mdreel.analysis.ResidueRMSD(m, r, "all", **o),
    "SymmetricRMSD(reference)": lambda m, r, **o: mdreel.analysis.SymmetricRMSD(m, r, "resid 3", **o),
    "fit_rot_trans(reference)": mdreel.transformations.fit_rot_trans,
}
"""All parameters whose atoms are compared with those of another group, atom by atom."""

NOT_PAIRED = {
    "from_function(atomgroup)": "the atoms that it is about",
    "AnalysisBase(reads)": "further atoms whose positions the worker reads",
    "Contacts(select)": "each atom of one group is compared with all of the other, in the same frame",
    "DistanceArray(other)": "distances from all atoms to all others",
    "DistanceArray(reference)": "distances from all atoms to all atoms of the reference",
    "Engine(groups)": "groups of consumers, which have no atoms",
    "InterRDF(g2)": "distances from all atoms to all others",
    "InterRDF_s(ags)": "distances from all atoms to all others",
    "PCA.project_single_frame(group)": "atoms of the same Universe that move with those of the components",
    "read(atoms)": "the atoms that are read",
    "iread(atoms)": "the atoms that are read",
    "Janin.plot(ref)": "whether the regions of known structures are drawn",
    "Ramachandran.plot(ref)": "whether the regions of known structures are drawn",
    "GromosClustering.save_structures(atoms)": "atoms of the analysed Universe, which is checked",
    "DensityClustering.save_structures(atoms)": "atoms of the analysed Universe, which is checked",
    "OnlineClustering.save_structures(atoms)": "atoms of the analysed Universe, which is checked",
    "HierarchicalClustering.save_structures(atoms)": "atoms of the analysed Universe, which is checked",
    "KMeansClustering.save_structures(atoms)": "atoms of the analysed Universe, which is checked",
    "KMedoidsClustering.save_structures(atoms)": "atoms of the analysed Universe, which is checked",
    "Producer(groups)": "groups of consumers, which have no atoms",
    "Relay(groups)": "groups of consumers, which have no atoms",
    "InteractionFingerprint(other)": "interactions of all residues with all others",
    "ResidueContacts(other)": "distances from all residues to all others",
    "TMScore(reference)": "one atom of each residue, so no two atoms of a residue are in another order",
    "SASA(surface)": "the atoms that cover, in the same frame",
    "unwrap(reference)": "the centre that is moved into the cell",
}
"""Parameters that take further atoms without comparing them atom by atom."""


OF_ATOMS = r"(Atom|Residue|Segment)Group|\bGroups?\b|GroupSelection|Universe\b|\bComponentAnalysis\b|\bAtoms\b"


def parameters_with_atoms() -> Iterator[str]:
    """Return all public parameters that take further atoms or another analysis."""
    packages = (mdreel, mdreel.analysis, mdreel.transformations, mdreel.live)
    public = {name: getattr(package, name) for package in packages for name in package.__all__}
    public |= {kind.__name__: kind for kind in analyses()}
    for name, one in public.items():
        is_class = inspect.isclass(one) and not issubclass(one, BaseException)
        if not (is_class or inspect.isfunction(one)):
            continue
        calls = {name: one}
        if inspect.isclass(one):
            methods = inspect.getmembers(one, inspect.isfunction)
            calls |= {f"{name}.{method}": call for method, call in methods if not method.startswith("_")}
        for called, call in calls.items():
            of_method = "." in called
            for place, parameter in enumerate(inspect.signature(call).parameters.values()):
                takes_atoms = re.search(OF_ATOMS, str(parameter.annotation))
                is_reference = re.search(r"(^|_)ref(?!_frame)(?!erence_frame)", parameter.name)
                if (takes_atoms or is_reference) and (place > 0) and not (of_method and place == 0):
                    yield f"{called}({parameter.name})"


def test_every_parameter_that_takes_atoms_is_listed() -> None:
    """Fail for a new analysis whose reference is not checked."""
    assert set(parameters_with_atoms()) == PAIRED.keys() | NOT_PAIRED.keys()


@pytest.mark.parametrize("name", PAIRED)
def test_reference_with_atoms_reversed_inside_residues_is_refused(name: str, monkeypatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    mobile = peptide().atoms
    with pytest.raises(MismatchError, match=r"of \d+ atoms .*match_atoms=False"):
        PAIRED[name](mobile, reversed_in_residues().atoms)
    PAIRED[name](mobile, peptide().atoms)
    PAIRED[name](mobile, reversed_in_residues().atoms, match_atoms=False)
    PAIRED[name](mobile, reversed_in_residues().atoms, tol_mass=100.0, match_atoms=False)
    with pytest.raises(MismatchError, match="are in another order"):
        PAIRED[name](mobile, reversed_in_residues().atoms, tol_mass=100.0)


@pytest.mark.parametrize("method", ["transform", "rmsip", "cumulative_overlap"])
def test_pca_warns_of_other_atoms_unless_told_otherwise(method: str) -> None:
    own, turned = components(peptide().atoms), reversed_in_residues().atoms
    other = turned if method == "transform" else components(turned)
    with pytest.warns(AtomOrderWarning, match=r"of \d+ atoms .*match_atoms=False") as caught:
        found = getattr(own, method)(other)
    assert caught[0].filename == __file__
    np.testing.assert_array_equal(found, getattr(own, method)(other, match_atoms=False))


def test_rmsd_of_atoms_in_another_order_is_wrong_when_they_are_taken_as_they_are() -> None:
    mobile = peptide().atoms
    assert mdreel.RMSD(mobile, peptide().atoms).run().results.rmsd[0, 2] < 1e-5
    taken = mdreel.RMSD(mobile, reversed_in_residues().atoms, match_atoms=False).run()
    assert taken.results.rmsd[0, 2] > 1


@pytest.mark.parametrize("name", PAIRED)
def test_hydrogens_of_equal_mass_in_another_order_are_refused(name: str, monkeypatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    order = peptide().atoms.ix.copy()
    first, second = (peptide().select_atoms(f"resid 3 and name {hydrogen}").ix[0] for hydrogen in ("HG21", "HG22"))
    order[[first, second]] = second, first
    with pytest.raises(
        MismatchError, match=r"2 of \d+ atoms are in another order .*HG21 of ILE 3.*HG22 of ILE 3"
    ) as caught:
        PAIRED[name](peptide().atoms, peptide(order).atoms)
    assert "match_atoms=False" in str(caught.value)


def test_residues_in_another_order_are_refused_when_names_and_masses_agree() -> None:
    alpha = peptide().select_atoms("name CA")
    turned = peptide().select_atoms("name CA")[::-1]
    with pytest.raises(MismatchError, match=r"14 of 14 atoms are in another order .*CA of MET 1.*CA of"):
        mdreel.transformations.fit_rot_trans(alpha, turned)
    with pytest.warns(AtomOrderWarning, match=r"14 of 14 atoms are in another order .*CA of MET 1.*is compared"):
        mdreel.RMSD(alpha, turned, select=None)
    mdreel.RMSD(alpha, turned)  # in the order of the topologies
    mdreel.RMSD(alpha[:-1], peptide().select_atoms("name CA")[1:])  # other residues are no other order


def test_names_of_another_force_field_are_a_warning_that_names_the_first() -> None:
    other = changed("names", lambda names: np.where(names == "HN", "H", names))
    with pytest.warns(AtomOrderWarning, match=r"atoms have another name .*\(HN of ARG 2\).*\(H of ARG 2\)") as caught:
        mdreel.RMSD(peptide().atoms, other.atoms)
    assert caught[0].filename == __file__
    mdreel.RMSD(peptide().atoms, other.atoms, match_atoms=False)


def test_segments_in_another_order_are_a_warning() -> None:
    parts = peptide().atoms, peptide().atoms
    both = MDAnalysis.Merge(*parts)
    segments = [both.add_Segment(segid=segid) for segid in "AB"]
    n_atoms = len(parts[0])
    both.atoms[:n_atoms].residues.segments, both.atoms[n_atoms:].residues.segments = segments
    first, second = both.atoms[:n_atoms], both.atoms[n_atoms:]
    mdreel.RMSD(first, second)
    with pytest.warns(AtomOrderWarning, match="same segments in another order"):
        mdreel.RMSD(first + second, second + first, select=None)


@pytest.mark.parametrize("unknown", [0.0, np.nan])
def test_names_decide_when_masses_are_unknown(unknown: float) -> None:
    mobile = peptide().atoms
    blank = changed("masses", lambda masses: np.full_like(masses, unknown))
    mdreel.RMSD(mobile, blank.atoms)
    backwards = reversed_in_residues()
    backwards.atoms.masses = np.full(len(backwards.atoms), unknown)
    with pytest.raises(MismatchError, match="do not match"):
        mdreel.RMSD(mobile, backwards.atoms)


def test_names_decide_when_a_topology_has_no_masses() -> None:
    mobile = peptide().atoms

    def without_masses(names: np.ndarray, order: np.ndarray) -> Atoms:
        bare = MDAnalysis.Universe.empty(len(names), 14, atom_resindex=mobile.resindices, trajectory=True)
        bare.add_TopologyAttr("names", names[order])
        return bare.atoms

    same, turned = np.arange(len(mobile)), np.concatenate([residue.atoms.ix[::-1] for residue in mobile.residues])
    mdreel.RMSD(mobile, without_masses(mobile.names, same))
    with pytest.raises(MismatchError, match="are in another order"):
        mdreel.RMSD(mobile, without_masses(mobile.names, turned))
    with pytest.warns(AtomOrderWarning, match="masses are unknown"):
        mdreel.RMSD(mobile, without_masses(np.where(mobile.names == "HN", "H", mobile.names), same))
    with pytest.warns(AtomOrderWarning, match="the topologies share neither masses nor names"):
        mdreel.RMSD(mobile, MDAnalysis.Universe.empty(len(mobile), trajectory=True).atoms)


def test_masses_may_be_apart_by_the_tolerance() -> None:
    heavier = changed("masses", lambda masses: masses + 0.2).atoms
    mdreel.RMSD(peptide().atoms, changed("masses", lambda masses: masses + 0.09).atoms)
    with pytest.raises(MismatchError, match=r"has a mass of .*tol_mass \(0\.1 amu\)"):
        mdreel.RMSD(peptide().atoms, heavier)
    mdreel.RMSD(peptide().atoms, heavier, tol_mass=0.3)


def test_positions_have_no_order_that_could_be_checked() -> None:
    turned = reversed_in_residues().atoms
    rmsd = mdreel.RMSD(peptide().atoms, turned.positions).run().results.rmsd
    assert rmsd[0, 2] > 1
    with pytest.raises(MismatchError, match="must have the shape"):
        mdreel.RMSD(peptide().atoms, turned.positions[1:])
