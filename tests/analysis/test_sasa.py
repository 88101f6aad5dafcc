"""Tests of the solvent accessible surface area against mdtraj and GROMACS."""

import shutil
import subprocess
from pathlib import Path

import MDAnalysis
import mdtraj
import numpy as np
import pytest
from MDAnalysisTests.datafiles import DCD, PSF, TPR, XTC

import mdreel
from mdreel._core import Source
from mdreel.analysis.topology.radii import RADII, elements_of, radii_of
from mdreel.errors import MismatchError, SelectionError, UnsupportedError
from mdreel.trajectory.open import open as open_trajectory

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
MOVED = 3  # points of a sphere that single precision may put on the other side of an edge
SMALL = "protein and resid 1:40"


@pytest.fixture(scope="module", params=[(PSF, DCD), (TPR, XTC)], ids=["adk", "water"])
def universe(request: pytest.FixtureRequest) -> MDAnalysis.Universe:
    return MDAnalysis.Universe(*request.param)


def with_mdtraj(universe: MDAnalysis.Universe, atoms: MDAnalysis.AtomGroup, step: int) -> mdtraj.Trajectory:
    """Return the same atoms and frames for mdtraj, in nm."""
    topology = mdtraj.Topology()
    chain = topology.add_chain()
    residues = {residue.resindex: topology.add_residue(residue.resname, chain) for residue in atoms.residues}
    for atom, element in zip(atoms, elements_of(atoms), strict=True):
        topology.add_atom(atom.name, mdtraj.element.get_by_symbol(element), residues[atom.resindex])
    return mdtraj.Trajectory([atoms.positions / 10 for _ in universe.trajectory[::step]], topology)


def areas_of_mdtraj(trajectory: mdtraj.Trajectory, *arguments: float, **options: object) -> np.ndarray:
    """Return areas of mdtraj, Å^2, computed frame by frame, because areas of later frames in one call are too large."""
    return 100 * np.concatenate([mdtraj.shrake_rupley(frame, *arguments, **options) for frame in trajectory])


@pytest.mark.parametrize(("probe", "n_points"), [(1.4, 960), (0.5, 100), (1.4, 24)])
def test_areas_agree_with_mdtraj(universe: MDAnalysis.Universe, probe: float, n_points: int) -> None:
    atoms, step = universe.select_atoms(SMALL), len(universe.trajectory) // 3
    theirs = with_mdtraj(universe, atoms, step)
    ours = mdreel.SASA(atoms, probe, n_points).run(step=step).results
    expected = areas_of_mdtraj(theirs, probe / 10, n_points)
    of_point = 4 * np.pi * (radii_of(atoms, None) + probe) ** 2 / n_points
    moved = np.abs(ours.sasa - expected) / of_point
    assert moved.max() < MOVED
    assert moved.mean() < 0.05
    np.testing.assert_allclose(ours.total_area, ours.sasa.sum(axis=1), rtol=1e-12)
    residues = mdreel.SASA(atoms, probe, n_points, "residue").run(step=step).results
    of_residues = areas_of_mdtraj(theirs, probe / 10, n_points, mode="residue")
    np.testing.assert_allclose(residues.sasa, of_residues, rtol=0, atol=2 * MOVED * of_point.max())
    assert residues.residue_area is residues.sasa


def test_area_in_surroundings_is_that_of_mdtraj(universe: MDAnalysis.Universe) -> None:
    surface = universe.select_atoms(SMALL)
    atoms = surface.select_atoms("resid 7:9")
    found = mdreel.SASA(atoms, surface=surface).run(stop=1).results.sasa[0]
    alone = mdreel.SASA(atoms).run(stop=1).results.sasa[0]
    every = mdreel.SASA(surface).run(stop=1).results.sasa[0]
    np.testing.assert_array_equal(found, every[np.isin(surface.ix, atoms.ix)])
    assert found.sum() < alone.sum()
    theirs = with_mdtraj(universe, surface, len(universe.trajectory))
    chosen = np.flatnonzero(np.isin(surface.ix, atoms.ix))
    expected = areas_of_mdtraj(theirs, atom_indices=chosen)[0, chosen]
    np.testing.assert_allclose(found, expected, rtol=0, atol=0.15 * MOVED)


@pytest.mark.skipif(shutil.which("gmx") is None, reason="gmx is not installed")
def test_total_is_about_that_of_gromacs(tmp_path: Path) -> None:
    universe = MDAnalysis.Universe(TPR, XTC)
    atoms = universe.select_atoms(SMALL)
    atoms.write(tmp_path / "atoms.pdb")
    # GROMACS goes by the first letters of names: those of a protein alone, or CA would be calcium.
    table = "\n".join(f"??? {element} {RADII[element] / 10}" for element in "HCNOS")
    (tmp_path / "vdwradii.dat").write_text(table + "\n")
    command = [
        "gmx",
        "-nobackup",
        "sasa",
        "-s",
        "atoms.pdb",
        "-surface",
        "all",
        "-ndots",
        "960",
        "-nopbc",
        "-xvg",
        "none",
    ]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    expected = 100 * np.loadtxt(tmp_path / "area.xvg", ndmin=2)[0, 1]
    assert mdreel.SASA(atoms).run(stop=1).results.total_area[0] == pytest.approx(expected, rel=5e-3)


def test_averages_are_those_of_all_areas(universe: MDAnalysis.Universe) -> None:
    atoms = universe.select_atoms("protein and resid 3:12")
    for mode in ("atom", "residue"):
        every = mdreel.SASA(atoms, mode=mode).run(step=3).results
        reduced = mdreel.SASA(atoms, mode=mode, average=True).run(step=3).results
        assert "sasa" not in reduced
        np.testing.assert_allclose(reduced.mean, every.sasa.mean(axis=0), rtol=1e-12)
        np.testing.assert_allclose(reduced.variance, every.sasa.var(axis=0), rtol=1e-9, atol=1e-9)
        np.testing.assert_array_equal(reduced.total_area, every.total_area)
    total = mdreel.SASA(atoms, mode="total").run(step=3).results
    assert set(total) == {"total_area"}
    np.testing.assert_allclose(total.total_area, every.total_area, rtol=1e-12)


def test_areas_are_bitwise_identical_for_all_executors(adk_xtc: Path) -> None:
    atoms = MDAnalysis.Universe(PSF).select_atoms("protein and resid 1:15")

    def bits(mode: str, average: bool, **options: object) -> bytes:
        source = open_trajectory(adk_xtc, index="none")
        results = mdreel.SASA(atoms, 1.4, 92, mode, average=average, trajectory=source).run(**options).results
        return b"".join(np.ascontiguousarray(value).tobytes() for value in results.values())

    for mode, average in (("atom", False), ("residue", True), ("total", False)):
        expected = bits(mode, average, backend="serial")
        for options in ({"n_parts": 97}, {"n_workers": 3}, {"backend": "processes", "n_workers": 2, "n_parts": 5}):
            assert bits(mode, average, **options) == expected, options


def test_areas_are_in_the_order_of_the_group(universe: MDAnalysis.Universe) -> None:
    surface = universe.select_atoms("protein and resid 5:9")
    every = mdreel.SASA(surface).run(stop=2).results.sasa
    order = [7, 3, 3, 20]
    found = mdreel.SASA(surface[order], surface=surface[::-1]).run(stop=2).results
    np.testing.assert_array_equal(found.sasa, every[:, order])
    np.testing.assert_allclose(found.total_area, every[:, [3, 7, 20]].sum(axis=1), rtol=1e-12)
    mean = mdreel.SASA(surface[order], surface=surface, average=True).run(stop=2).results.mean
    np.testing.assert_allclose(mean, every[:, order].mean(axis=0), rtol=1e-12)
    residues = mdreel.SASA(surface[::-1], mode="residue").run(stop=2).results.sasa
    sums = [every[:, surface.resindices == residue.resindex].sum(axis=1) for residue in surface.residues]
    np.testing.assert_allclose(residues, np.transpose(sums), rtol=1e-12)


def test_radii_are_those_that_are_given(universe: MDAnalysis.Universe) -> None:
    atoms = universe.select_atoms("protein and resid 5:9")
    radii = radii_of(atoms, None)
    assert set(elements_of(atoms)) <= {"H", "C", "N", "O", "S"}
    assert radii[atoms.names == "CA"].tolist() == [1.7] * 5
    bigger = np.where(elements_of(atoms) == "C", 2.0, radii)
    found = [mdreel.SASA(atoms, radii=given).run(stop=1).results.sasa for given in ({"c": 2.0}, bigger)]
    np.testing.assert_array_equal(*found)
    assert (found[0] != mdreel.SASA(atoms).run(stop=1).results.sasa).any()
    alone = mdreel.SASA(atoms[:1], probe_radius=0.0, radii=[1.5]).run(stop=1).results
    assert alone.total_area[0] == pytest.approx(4 * np.pi * 1.5**2)


def test_images_of_atoms_cover_too() -> None:
    universe = MDAnalysis.Universe.empty(2, trajectory=True)
    positions = np.array([[[1, 5, 5], [18.5, 5, 5]]], np.float32)
    cell = np.array([[20, 20, 20, 90, 90, 90]], np.float32)
    source = Source.memory(positions, np.zeros(1), cell)
    apart, together = (
        mdreel.SASA(universe.atoms, radii=[1.6, 1.6], pbc=pbc, trajectory=source).run().results.sasa[0]
        for pbc in (False, True)
    )
    np.testing.assert_allclose(apart, 4 * np.pi * 9)
    np.testing.assert_allclose(together, 4 * np.pi * 9 * (0.5 + 2.5 / 12), rtol=5e-3)
    with pytest.raises(MismatchError, match="frame 0: no periodic cell"):
        mdreel.SASA(universe.atoms, radii=[1, 1], pbc=True, trajectory=Source.memory(positions, np.zeros(1))).run()


def test_sasa_refuses_invalid_input(universe: MDAnalysis.Universe) -> None:
    atoms = universe.select_atoms("name CA")
    for options, expected in (
        ({"mode": "chain"}, "mode must be 'atom'"),
        ({"mode": "total", "average": True}, "average needs mode 'atom' or 'residue'"),
        ({"n_sphere_points": 0}, "n_sphere_points must be 1 or more"),
        ({"radii": [1.0, 2.0]}, r"radii must have the shape \(214,\), got \(2,\)"),
        ({"radii": {"C": -1.0}}, "a radius is -1.0 Å"),
        ({"surface": atoms[1:]}, "surface lacks 1 atoms of atomgroup"),
        ({"surface": universe.copy().atoms}, "another Universe"),
    ):
        with pytest.raises(MismatchError, match=expected):
            mdreel.SASA(atoms, **options)
    with pytest.raises(MismatchError, match="probe_radius must be a number, not nan"):
        mdreel.SASA(atoms, float("nan"))
    with pytest.raises(MismatchError, match="the same radius to all occurrences"):
        mdreel.SASA(atoms[[0, 0]], radii=[1.0, 2.0])
    with pytest.raises(SelectionError, match="surface has no atoms"):
        mdreel.SASA(atoms, surface=atoms[:0])
    with pytest.raises(UnsupportedError, match="UpdatingAtomGroup"):
        mdreel.SASA(universe.select_atoms("name CA", updating=True))
    with pytest.raises(SelectionError, match="neither elements nor atom names"):
        mdreel.SASA(MDAnalysis.Universe.empty(2, trajectory=True).atoms)
    iron = MDAnalysis.Universe.empty(2, trajectory=True)
    iron.add_TopologyAttr("names", ["O", "FE"])
    iron.add_TopologyAttr("elements", ["O", "FE"])
    with pytest.raises(MismatchError, match=r"the element 'Fe' of atom 1 \(FE\) has no known radius: give one"):
        mdreel.SASA(iron.atoms)


def test_plot_labels(universe: MDAnalysis.Universe) -> None:
    atoms = universe.select_atoms("protein and resid 1:5")
    (series,) = mdreel.SASA(atoms, 1.4, 24).run().plot().axes
    assert series.get_ylabel() == "SASA (Å²)"
    assert series.get_xlabel().startswith("Time")
    for options in ({"mode": "residue"}, {"average": True}):
        (axes,) = mdreel.SASA(atoms, 1.4, 24, **options).run(step=5).plot().axes
        assert (axes.get_xlabel(), axes.get_ylabel()) == ("Residue", "SASA (Å²)")


def test_radius_of_something_that_is_no_element_is_refused() -> None:
    universe = MDAnalysis.Universe(PSF, DCD)
    with pytest.raises(MismatchError, match="radii has 'Carbon', which is no element"):
        mdreel.SASA(universe.select_atoms("name CA"), radii={"Carbon": 5.0})
