"""Tests of the radius of gyration against MDAnalysis and GROMACS."""

import shutil
import subprocess
from pathlib import Path

import MDAnalysis
import numpy as np
import pytest
from MDAnalysis.transformations import unwrap
from MDAnalysisTests.datafiles import DCD, GRO, PSF, TPR, XTC

import mdreel
from mdreel.errors import MismatchError, SelectionError

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")


@pytest.fixture(params=[(PSF, DCD), (TPR, XTC)], ids=["adk", "water"])
def universe(request: pytest.FixtureRequest) -> MDAnalysis.Universe:
    return MDAnalysis.Universe(*request.param)


@pytest.mark.parametrize("select", ["protein", "name CA", "index 7", "all"])
def test_rg_agrees_with_mdanalysis(universe: MDAnalysis.Universe, select: str) -> None:
    atoms = universe.select_atoms(select)
    rgyr = mdreel.Rg(atoms).run(step=4).results.rgyr
    expected = [(ts.frame, ts.time, atoms.radius_of_gyration()) for ts in universe.trajectory[::4]]
    np.testing.assert_allclose(rgyr[:, :3], expected, rtol=0, atol=1e-6 if select != "all" else 1e-4)
    # Of the tensor's diagonal: what is about x has y and z.
    np.testing.assert_allclose((rgyr[:, 3:] ** 2).sum(axis=1) / 2, rgyr[:, 2] ** 2, rtol=1e-12, atol=1e-12)


def test_rg_agrees_with_gmx(tmp_path: Path) -> None:
    if shutil.which("gmx") is None:
        pytest.skip("GROMACS is not installed")
    universe = MDAnalysis.Universe(TPR, XTC)
    protein = universe.select_atoms("protein")
    universe.trajectory.add_transformations(unwrap(protein))  # as gmx does by itself
    universe.atoms.write(tmp_path / "whole.xtc", frames="all")
    command = ["gmx", "gyrate", "-s", TPR, "-f", "whole.xtc", "-o", "rg.xvg"]
    subprocess.run(command, cwd=tmp_path, input="Protein\n", text=True, check=True, capture_output=True, timeout=120)
    lines = (tmp_path / "rg.xvg").read_text().splitlines()
    expected = np.array([line.split() for line in lines if line[0] not in "#@"], float)
    rgyr = mdreel.Rg(protein, trajectory=tmp_path / "whole.xtc").run().results.rgyr
    np.testing.assert_allclose(rgyr[:, 1:] / [1, 10, 10, 10, 10], expected, rtol=0, atol=1e-4)  # gmx prints six digits


def test_rg_with_weights_of_several_kinds(universe: MDAnalysis.Universe) -> None:
    atoms = universe.select_atoms("name CA")
    alike = mdreel.Rg(atoms, weights=None).run(stop=3).results.rgyr
    np.testing.assert_allclose(mdreel.Rg(atoms, weights=np.full(len(atoms), 3.0)).run(stop=3).results.rgyr, alike)
    twice = mdreel.Rg(atoms + atoms[:1], weights=None).run(stop=3).results.rgyr
    weights = np.ones(len(atoms))
    weights[0] = 2
    np.testing.assert_array_equal(mdreel.Rg(atoms, weights=weights).run(stop=3).results.rgyr, twice)


def test_rg_is_bitwise_identical_for_all_executors(adk_xtc: Path) -> None:
    atoms = MDAnalysis.Universe(PSF).select_atoms("protein")
    expected = mdreel.Rg(atoms, trajectory=adk_xtc).run(backend="serial").results.rgyr.tobytes()
    for options in ({"n_parts": 97}, {"n_workers": 3}, {"backend": "processes", "n_workers": 2}):
        assert mdreel.Rg(atoms, trajectory=adk_xtc).run(**options).results.rgyr.tobytes() == expected, options


def test_rg_refuses_invalid_input() -> None:
    universe = MDAnalysis.Universe.empty(3, trajectory=True)
    with pytest.raises(SelectionError, match="no masses"):
        mdreel.Rg(universe.atoms)
    with pytest.raises(MismatchError, match=r"shape|weights"):
        mdreel.Rg(universe.atoms, weights=[1.0])
    with pytest.raises(SelectionError, match="no atoms"):
        mdreel.Rg(MDAnalysis.Universe(GRO).atoms[:0])


def test_plot_has_the_radius() -> None:
    rg = mdreel.Rg(MDAnalysis.Universe(PSF, DCD).select_atoms("protein")).run()
    (axes, *_) = rg.plot().axes
    assert axes.get_ylabel() == "Radius of gyration (Å)"


def test_universe_stands_for_all_of_its_atoms() -> None:
    universe = MDAnalysis.Universe(PSF, DCD)
    found = mdreel.Rg(universe).run(stop=2).results.rgyr
    np.testing.assert_array_equal(found, mdreel.Rg(universe.atoms).run(stop=2).results.rgyr)
