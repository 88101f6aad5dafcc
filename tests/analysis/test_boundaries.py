"""Tests of warnings about broken molecules and jumps across the cell boundary."""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import MDAnalysis
import numpy as np
import pytest
from MDAnalysis.lib.formats.libmdaxdr import XTCFile
from MDAnalysisTests import datafiles

import mdreel
from every_analysis import CASES, analyses
from mdreel.analysis.base.analysis import Analysis
from mdreel.errors import BrokenMoleculeWarning, JumpWarning
from peptide_system import CELL, System, in_memory, peptide, peptide_positions

pytestmark = pytest.mark.filterwarnings(
    "ignore::UserWarning", "ignore::DeprecationWarning", "ignore::PendingDeprecationWarning"
)
N_FRAMES = 6
VARIANTS: dict[str, Callable[[System], Analysis]] = {
    **{name: case.make for name, case in CASES.items()},
    "Contacts, without images": lambda s: mdreel.Contacts(
        s.universe, (s.pick("name C*"), s.pick("name O*")), 0, pbc=False, trajectory=s.trajectory
    ),
    "CrossCorrelation, without superposition": lambda s: mdreel.analysis.CrossCorrelation(
        s.universe, "name CA", trajectory=s.trajectory
    ),
    "DSSP, without images": lambda s: mdreel.DSSP(s.universe, pbc=False, trajectory=s.trajectory),
    "DistanceArray, of images": lambda s: mdreel.DistanceArray(
        s.pick("name CA"), s.pick("name O"), pbc=True, trajectory=s.trajectory
    ),
    "DistanceArray, from a reference": lambda s: mdreel.DistanceArray(
        s.pick("name CA"), reference=s.pick("name CA"), trajectory=s.trajectory
    ),
    "DistanceMatrix, without superposition": lambda s: mdreel.DistanceMatrix(
        s.universe, superposition=False, trajectory=s.trajectory
    ),
    "EinsteinMSD, jumps undone": lambda s: mdreel.EinsteinMSD(s.pick(), nojump="lattice", trajectory=s.trajectory),
    "LinearDensity, of atoms": lambda s: mdreel.LinearDensity(s.pick(), trajectory=s.trajectory),
    "PCA, without superposition": lambda s: mdreel.PCA(s.universe, "name CA", trajectory=s.trajectory),
    "RMSD, without superposition": lambda s: mdreel.RMSD(s.pick(), superposition=False, trajectory=s.trajectory),
    "RMSF, without superposition": lambda s: mdreel.RMSF(s.pick("name CA"), trajectory=s.trajectory),
    "SASA, of images": lambda s: mdreel.SASA(s.pick(), n_sphere_points=20, pbc=True, trajectory=s.trajectory),
}


def whole_positions(n_frames: int = N_FRAMES) -> np.ndarray:
    """The peptide in the middle of the cell."""
    positions = peptide_positions()[np.arange(n_frames) % len(peptide_positions())].astype(np.float64)
    return positions - positions.mean(axis=(0, 1)) + CELL / 2


def broken_positions(n_frames: int = N_FRAMES) -> np.ndarray:
    """The peptide at a corner of the cell, with each atom wrapped into the cell."""
    return (whole_positions(n_frames) - CELL / 2) % CELL


def jumping_positions(n_frames: int = N_FRAMES) -> np.ndarray:
    """The whole peptide, which jumps to the other side of the cell after half of the frames."""
    positions = whole_positions(n_frames)
    positions[n_frames // 2 :, :, 0] -= CELL
    return positions


def warned(run: Callable[[], Any]) -> list[warnings.WarningMessage]:
    """Return the boundary warnings of a call."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run()
    return [one for one in caught if issubclass(one.category, (BrokenMoleculeWarning, JumpWarning))]


def of_peptide(name: str, positions: np.ndarray) -> Analysis:
    return VARIANTS[name](System(peptide(), in_memory(positions)))


@pytest.mark.parametrize("kind", [*analyses()], ids=lambda kind: kind.__name__)
def test_every_analysis_declares_what_it_requires_of_boundaries(kind: type[Analysis]) -> None:
    declaring = next(one for one in kind.__mro__ if "boundaries" in vars(one))
    assert declaring is not Analysis, f"{kind.__name__} must say whether it needs whole molecules or paths"


@pytest.mark.parametrize("name", VARIANTS)
def test_analysis_warns_of_broken_molecules_where_it_needs_whole_ones(name: str) -> None:
    analysis = of_peptide(name, broken_positions())
    found = [one for one in warned(analysis.run) if one.category is BrokenMoleculeWarning]
    assert len(found) == int(analysis.boundaries.whole)
    assert analysis.boundaries.why
    for one in found:
        assert str(one.message).startswith(f"{type(analysis).__name__}: the periodic cell cuts a molecule: in frame 0,")
        assert "run(transformations=[mdreel.transformations.unwrap(atoms)])" in str(one.message)
        assert "--transform whole" in str(one.message)
        assert one.filename == __file__


@pytest.mark.parametrize("name", VARIANTS)
def test_analysis_does_not_warn_of_whole_molecules(name: str) -> None:
    assert not warned(of_peptide(name, whole_positions()).run)


@pytest.mark.parametrize("name", VARIANTS)
def test_analysis_does_not_warn_after_the_remedy(name: str) -> None:
    analysis = of_peptide(name, broken_positions())
    unwrap = mdreel.transformations.unwrap(analysis.atomgroup.universe.atoms)
    found = warned(lambda: analysis.run(transformations=[unwrap]))
    assert not [one for one in found if one.category is BrokenMoleculeWarning]
    # The first atom, which `unwrap` leaves where it is, may have been wrapped in some frames: that is a jump.
    analysis = of_peptide(name, jumping_positions())
    assert not warned(lambda: analysis.run(transformations=[mdreel.transformations.nojump()], backend="serial"))


@pytest.mark.parametrize("name", VARIANTS)
def test_analysis_warns_of_jumps_where_it_needs_paths(name: str) -> None:
    analysis = of_peptide(name, jumping_positions())
    found = warned(analysis.run)
    assert [one.category for one in found] == [JumpWarning] * int(analysis.boundaries.paths)
    for one in found:
        assert f"moves {CELL:.1f} Å" in str(one.message) or "moves 6" in str(one.message)
        assert f"from frame {N_FRAMES // 2 - 1} to frame {N_FRAMES // 2}" in str(one.message)
        assert analysis.boundaries.remedy in str(one.message)


def test_declarations_of_own_analyses_are_kept() -> None:
    class Radius(mdreel.AnalysisBase):
        _has_results = False

        @property
        def boundaries(self) -> mdreel.analysis.periodic.boundaries.Boundaries:
            return mdreel.analysis.periodic.boundaries.Boundaries("distances from the centre", whole=True)

        def _single_frame(self) -> None:
            pass

    radius = Radius(peptide().atoms, trajectory=in_memory(broken_positions()))
    assert [one.category for one in warned(radius.run)] == [BrokenMoleculeWarning]


@pytest.mark.parametrize("options", [{"backend": "serial"}, {}, {"backend": "processes", "n_workers": 2}])
def test_one_pass_warns_once_and_names_all_analyses(options: dict[str, Any], tmp_path: Path) -> None:
    with XTCFile(str(tmp_path / "broken.xtc"), "w") as file:
        for i, frame in enumerate(broken_positions()):
            file.write(frame.astype(np.float32) / 10, np.eye(3, dtype=np.float32) * CELL / 10, i, float(i), 1000)
    system = System(peptide(), tmp_path / "broken.xtc")
    made = [VARIANTS[name](system) for name in ("Rg", "HydrogenBondAnalysis", "RMSD", "EndToEnd")]
    (one,) = warned(lambda: mdreel.run(made, n_parts=3, **options))
    assert str(one.message).startswith("Rg, RMSD, EndToEnd: ")


def test_broken_molecule_is_found_in_a_later_frame() -> None:
    positions = whole_positions(401)
    positions[-1] = broken_positions(401)[-1]
    (one,) = warned(of_peptide("Rg", positions).run)
    assert "in frame 400," in str(one.message)
    assert not warned(lambda: of_peptide("Rg", positions).run(stop=400))
    assert "in frame 400," in str(warned(lambda: of_peptide("Rg", positions).run(frames=[400]))[0].message)


def test_jump_of_one_frame_is_found_in_positions_that_are_kept() -> None:
    positions = whole_positions(300)
    positions[123, :, 1] += CELL
    (one,) = warned(of_peptide("EinsteinMSD", positions).run)
    assert "from frame 122 to frame 123" in str(one.message)


def test_molecules_that_diffuse_far_do_not_warn() -> None:
    steps = np.random.default_rng(3).normal(0, 1, (2000, 1, 3)).cumsum(axis=0)  # more than the cell, in all
    assert np.abs(steps).max() > CELL
    positions = whole_positions(2000) + steps
    for name in ("EinsteinMSD", "RMSF, without superposition", "Rg"):
        assert not warned(of_peptide(name, positions).run), name
    # From one frame to the next, many go farther than half of the cell.
    sparse = np.random.default_rng(4).normal(0, 25, (50, 200, 3)).cumsum(axis=0)
    ions = MDAnalysis.Universe.empty(200, trajectory=True)
    assert not warned(mdreel.EinsteinMSD(ions.atoms, trajectory=in_memory(sparse)).run)
    wrapped = mdreel.EinsteinMSD(ions.atoms, trajectory=in_memory(sparse % CELL))
    assert [one.category for one in warned(wrapped.run)] == [JumpWarning]


def test_molecule_without_bonds_is_found_and_the_remedy_asks_for_bonds() -> None:
    protein = MDAnalysis.Universe(datafiles.GRO, datafiles.XTC).select_atoms("protein")
    for atoms in (protein, protein.select_atoms("name CA")):
        (one,) = warned(lambda atoms=atoms: mdreel.Rg(atoms).run(stop=2))
        assert "The topology has no bonds between these atoms" in str(one.message)


def test_wrapped_water_warns_of_jumps_until_they_are_undone() -> None:
    universe = MDAnalysis.Universe(datafiles.TPR, datafiles.XTC)
    oxygens = universe.select_atoms("name OW")
    (one,) = warned(mdreel.EinsteinMSD(oxygens).run)
    assert one.category is JumpWarning
    assert 'EinsteinMSD(..., nojump="toroidal")' in str(one.message)
    assert not warned(mdreel.EinsteinMSD(oxygens, nojump="toroidal").run)
    assert not warned(lambda: mdreel.EinsteinMSD(oxygens).run(transformations=[mdreel.transformations.nojump()]))
    protein = universe.select_atoms("protein")
    radii = {}
    for transformations in ((), (mdreel.transformations.unwrap(protein),)):
        rg = mdreel.Rg(protein)
        found = warned(lambda rg=rg, given=transformations: rg.run(transformations=given))
        assert len(found) == int(not transformations)
        radii[len(transformations)] = rg.results.rgyr[:, 2].mean()
    assert radii[0] > radii[1] + 2


WHOLE = [
    ("PSF_TRICLINIC", "DCD_TRICLINIC"),
    ("waterPSF", "waterDCD"),
    ("GRO_MEMPROT", "XTC_MEMPROT"),
    ("PRM_NCBOX", "TRJ_NCBOX"),
    ("PRM7", "NCDFtruncoct"),
    ("LAMMPSdata",),
    ("LAMMPSdata2",),
    ("Plength",),
    ("PDB_full",),
    ("PDB_xvf",),
    ("SURFACE_PDB",),
    ("TPR2018",),
]


@pytest.mark.parametrize("names", WHOLE, ids=lambda names: names[0])
def test_whole_systems_do_not_warn(names: tuple[str, ...]) -> None:
    universe = MDAnalysis.Universe(*(getattr(datafiles, name) for name in names))
    assert universe.dimensions is not None
    if hasattr(universe, "bonds"):
        # What the file has: no bond is longer than half of the cell.
        least = universe.dimensions[:3].min() / 2
        assert universe.bonds.values(pbc=False).max() < least
    assert not warned(mdreel.Rg(universe.atoms, weights=None).run)


def test_warning_can_be_filtered_and_changes_nothing() -> None:
    analysis = of_peptide("Rg", broken_positions())
    with pytest.warns(BrokenMoleculeWarning):
        expected = analysis.run().results.rgyr.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", mdreel.errors.BrokenMoleculeWarning)
        found = of_peptide("Rg", broken_positions()).run().results.rgyr
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", ["RMSD", "RMSF", "AverageStructure"])
def test_broken_molecule_of_the_reference_is_found(name: str) -> None:
    mobile, reference = peptide(), peptide()
    reference.load_new(broken_positions(1).astype(np.float32), dimensions=[CELL, CELL, CELL, 90, 90, 90])
    source = in_memory(whole_positions())
    make: dict[str, Callable[[], Analysis]] = {
        "RMSD": lambda: mdreel.RMSD(mobile, reference, trajectory=source),
        "RMSF": lambda: mdreel.RMSF(mobile, superposition=True, reference=reference, trajectory=source),
        "AverageStructure": lambda: mdreel.AverageStructure(mobile, reference, trajectory=source),
    }
    (one,) = warned(lambda: make[name]().run())
    assert "in the reference," in str(one.message)
    assert "Make the molecules of the reference whole" in str(one.message)
    reference.load_new(whole_positions(1).astype(np.float32), dimensions=[CELL, CELL, CELL, 90, 90, 90])
    assert not warned(lambda: make[name]().run())
