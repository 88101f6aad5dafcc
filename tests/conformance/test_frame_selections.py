"""Selections that are made in each frame select the atoms that MDAnalysis selects."""

import os
from typing import Any

import MDAnalysis
import numpy as np
import pytest
from MDAnalysisTests import datafiles as files

import mdreel
from mdreel.errors import MdreelError, MismatchError, SelectionError

pytestmark = pytest.mark.filterwarnings("ignore")

FEW, MORE = "index 0:11", "index 20:300"

SELECTIONS = [
    f"around 3.5 ({FEW})",
    f"around 3.5 ({FEW}) and {MORE}",
    f"{MORE} and around 8 ({FEW})",
    f"around 0 ({FEW})",
    f"around 1e3 ({FEW})",
    f"not around 5 ({FEW})",
    f"around 3 around 3 ({FEW})",
    f"around 2.5 byres around 2.5 ({FEW})",
    f"(around 4 {FEW}) or ({MORE} and prop x > 0)",
    f"isolayer 2 4 ({FEW})",
    f"{MORE} and isolayer 3 9 ({FEW})",
    f"isolayer 4 2 ({FEW})",
    f"isolayer 0 3 around 3 ({FEW})",
    f"sphzone 6 ({FEW})",
    f"sphzone 25 ({FEW})",
    f"sphzone 4 around 3 ({FEW})",
    f"{MORE} and sphzone 12.5 ({FEW})",
    "sphzone 5 (index 3 and index 4)",
    f"sphlayer 2 7 ({FEW})",
    f"sphlayer 0 5 ({FEW})",
    f"not sphlayer 5 20 ({MORE})",
    f"cyzone 8 6 -6 ({FEW})",
    f"cyzone 3 10 -2 around 3 ({FEW})",
    f"not cyzone 9 8 0 ({FEW})",
    f"cylayer 2 8 6 -6 ({FEW})",
    f"cylayer 3 7 9 -1 ({MORE})",
    "point 0 0 0 10",
    "point 12.5 -3 20 9",
    "not point 20 20 20 15",
    f"point 10 10 10 14 and {MORE}",
    "prop x < 10",
    "prop y <= 10",
    "prop z > 10",
    "prop abs x >= 3.5",
    "prop abs z < 5",
    "prop z != 5",
    "prop x == 10 or prop y == 3.25",
    "prop x > 2 and prop y > 2 and prop z > 2",
    "not (prop x < 8 or prop y < 8)",
    f"byres around 3 ({FEW})",
    f"byres (around 3 ({FEW}) and prop x > 5)",
    f"byres ({MORE} and sphzone 6 ({FEW}))",
    f"same residue as around 3 ({FEW})",
    f"same resid as around 3 ({FEW})",
    f"same segment as (sphzone 3 ({FEW}))",
    f"same x as ({FEW} and prop y > 2)",
    f"same z as around 2 ({FEW})",
    f"global around 3 ({FEW})",
    f"({MORE}) and global around 4 ({FEW})",
    f"around 4 global ({FEW} and prop x > 0)",
    f"group part and around 6 ({FEW})",
    "around 4 group part",
    "group moving",
    "around 3 group moving",
    f"group moving and not around 2 ({FEW})",
    "byres group moving",
    f"global group moving or around 2 ({FEW})",
    "all and group moving",
    f"around 3 (byres (group moving and around 4 ({FEW})))",
    f"sphlayer 1 9 (group moving or {FEW})",
    f"cyzone 10 10 -10 (group moving or {FEW})",
    f"isolayer 1 5 (group moving or {FEW})",
    f"not (around 3 ({FEW}) or prop z < 5) and not group part",
    "index 0:3 and not index 0:3 and prop x > 0",
]
"""They need no attribute but indices, residues and segments."""

CYLINDERS = [words for words in SELECTIONS if "cyzone" in words or "cylayer" in words]

OF_ATTRIBUTES = [
    f"same name as around 3 ({FEW})",
    "same type as (index 0:3 and prop x < 10)",
    f"same mass as around 2 ({FEW})",
    f"same charge as around 2 ({FEW})",
    f"same resname as around 3 ({FEW})",
    f"same fragment as around 3 ({FEW})",
    f"bonded around 3 ({FEW})",
    f"bonded ({MORE} and prop x > 5)",
    f"same resid as (name OW OH2 O and around 3.5 ({FEW}))",
    f"protein and around 6 ({FEW})",
    f"name C* and around 6 ({FEW})",
    f"backbone and not around 6 ({FEW})",
]
"""Those that not all topologies can answer."""

SYSTEMS: dict[str, tuple[Any, ...]] = {
    "AdK, no cell": (files.PSF, files.DCD),
    "AdK in water, triclinic, XTC": (files.TPR, files.XTC),
    "AdK in water, triclinic, TRR": (files.GRO, files.TRR),
    "triclinic DCD": (files.PSF_TRICLINIC, files.DCD_TRICLINIC),
    "triclinic DCD of NAMD": (files.PSF_NAMD_TRICLINIC, files.DCD_NAMD_TRICLINIC),
    "Amber NetCDF": (files.PRMncdf, files.NCDF),
    "Amber in water, NetCDF": (files.PRM_NCBOX, files.TRJ_NCBOX),
    "Amber in water, text": (files.PRM, files.TRJ_bz2),
    "H5MD, orthogonal": (files.TPR_xvf, files.H5MD_xvf),
    "water": (files.waterPSF, files.waterDCD),
    "RNA": (files.RNA_PSF, files.RNA_PDB),
    "LAMMPS": (files.LAMMPSdata2, files.LAMMPSdcd2),
    "PDB with several models": (files.PDB_multiframe,),
    "XYZ": (files.XYZ_mini,),
    "peptide of NMR": (files.PDB_full,),
    "Martini": (files.Martini_membrane_gro,),
}

OTHERS: dict[str, tuple[Any, ...]] = {
    "GROMACS, TRR with velocities": (files.TPR_xvf, files.TRR_xvf),
    "GROMACS, energies": (files.AUX_EDR_TPR, files.AUX_EDR_XTC),
    "membrane protein, hexagonal": (files.GRO_MEMPROT, files.XTC_MEMPROT),
    "Amber, octahedron": (files.NCDFtruncoct,),
    "Amber of ParmEd": (files.PFncdf_Top, files.PFncdf_Trj),
    "Amber of cpptraj": (files.CPPTRAJ_TRAJ_TOP, files.CPPTRAJ_TRAJ),
    "Amber in a cell, text": (files.PRMpbc, files.TRJpbc_bz2),
    "Amber of 2012, text": (files.PRM12, files.TRJ12_bz2),
    "AdK, second path": (files.PSF, files.DCD2),
    "NAMD, implicit solvent": (files.PSF_NAMD_GBIS, files.DCD_NAMD_GBIS),
    "TRZ": (files.TRZ_psf, files.TRZ),
    "DL_POLY": (files.DLP_HISTORY,),
    "DL_POLY, minimal": (files.DLP_HISTORY_minimal,),
    "GROMOS, vacuum": (files.TRC_PDB_VAC, files.TRC_TRAJ1_VAC),
    "GROMOS, solvent": (files.TRC_PDB_SOLV, files.TRC_TRAJ_SOLV),
    "LAMMPS dump": (files.LAMMPSDUMP,),
    "LAMMPS dump of chains": (files.LAMMPSDUMP_chain1,),
    "Tinker": (files.ARC_PBC,),
    "pore": (files.MULTIPDB_HOLE,),
    "XYZ of a protein": (files.XYZ_psf, files.XYZ_bz2),
    "random walk": (files.RANDOM_WALK_TOPO, files.RANDOM_WALK),
    "Mol2": (files.mol2_molecules,),
    "five atoms, XTC": (files.COORDINATES_TOPOLOGY, files.COORDINATES_XTC),
}
"""More systems, in fewer frames. GSD and TNG files need readers that are not installed with MDAnalysis."""

FORMATS = {
    "DL_POLY": "HISTORY",
    "DL_POLY, minimal": "HISTORY",
    "LAMMPS dump": "LAMMPSDUMP",
    "LAMMPS dump of chains": "LAMMPSDUMP",
}
EVERY_FRAME = bool(os.environ.get("MDREEL_SLOW_TESTS"))
"""Whether every frame is compared, which takes MDAnalysis many minutes; otherwise a few are."""

N_FRAMES, N_FRAMES_OF_FEW = 6, 2
LARGE = 20_000
"""Atoms above which MDAnalysis takes a second for each frame of all selections: few frames are compared."""

DIFFERING = {
    ("LAMMPS", f"sphzone 25 ({FEW})", 0): {6480},
    ("triclinic DCD", f"point 10 10 10 14 and {MORE}", 9): {164},
}
"""Atoms that MDAnalysis misses: one at 24.99999993 Å, which are 25.0000002 Å in the single precision of its images; and
one at 13.65 Å, whose nearest image it does not find in a cell with an angle of 32 degrees (14.55 Å)."""

SLOW = ("triclinic DCD of NAMD", f"around 0 ({FEW})", False)
"""A selection without images for which MDAnalysis takes 10 s: a grid of tiny cells over 1,000 Å."""

UNBEARABLE = 20_000
"""Bonds above which MDAnalysis takes a second for each frame of a selection by bonds."""


def universe_of(name: str) -> MDAnalysis.Universe:
    """Return a Universe that mdreel can read; formats of MDAnalysis alone are read into memory."""
    options = {"format": FORMATS[name]} if name in FORMATS else {}
    universe = MDAnalysis.Universe(*{**SYSTEMS, **OTHERS}[name], to_guess=("types", "masses"), **options)
    try:
        mdreel.open(universe.trajectory.filename)
    except (MdreelError, TypeError):  # no format of mdreel, or files opened as one
        universe.transfer_to_memory()
    return universe


def frames_of(name: str, universe: MDAnalysis.Universe) -> list[int]:
    """Return the frames that are compared."""
    n_frames = universe.trajectory.n_frames
    is_fast = name in SYSTEMS and len(universe.atoms) < LARGE
    wanted = n_frames if EVERY_FRAME else N_FRAMES if is_fast else N_FRAMES_OF_FEW
    differing = {frame for system, _, frame in DIFFERING if system == name}
    return sorted({*np.linspace(0, n_frames - 1, min(wanted, n_frames)).astype(int).tolist(), *differing})


def groups_of(universe: MDAnalysis.Universe) -> dict[str, MDAnalysis.AtomGroup]:
    """Return the groups that selections name: one that stays, and one that changes."""
    moving = universe.select_atoms("prop x > 4 and (index 5:60 or (index 61:400 and prop y > 15))", updating=True)
    return {"part": universe.atoms[5:90], "moving": moving}


TOO_LARGE = (NotImplementedError, ValueError)
"""Raised by MDAnalysis for a cylinder or a distance that is larger than the cell."""


def selectable(universe: MDAnalysis.Universe, words: str, **options: Any) -> MDAnalysis.AtomGroup | None:
    """Return the updating group, or None if the topology lacks an attribute."""
    if words.startswith("bonded") and len(getattr(universe, "bonds", ())) > UNBEARABLE:
        return None
    try:
        return universe.select_atoms(words, updating=True, **groups_of(universe), **options)
    except (MDAnalysis.NoDataError, AttributeError, *TOO_LARGE):
        return None


def is_too_wide(analysis: mdreel.Selection, frames: list[int]) -> bool:
    """Return whether a cylinder is refused because it is wider than the cell."""
    try:
        analysis.run(frames=frames, backend="serial")
    except MismatchError as error:
        if "the cylinder of a selection" not in str(error):
            raise
        return True
    return False


def test_there_are_enough_selections() -> None:
    assert len(set(SELECTIONS)) >= 60


@pytest.fixture(scope="module", params=[*SYSTEMS, *OTHERS])
def system(request: pytest.FixtureRequest) -> tuple[str, MDAnalysis.Universe]:
    """A system with its name. MDAnalysis finds its fragments once."""
    return request.param, universe_of(request.param)


@pytest.mark.parametrize("periodic", [True, False], ids=["images", "no images"])
def test_atoms_of_every_frame_are_those_of_mdanalysis(system: tuple[str, MDAnalysis.Universe], periodic: bool) -> None:
    name, universe = system
    universe.trajectory.rewind()
    chosen_words = [words for words in SELECTIONS + OF_ATTRIBUTES if (name, words, periodic) != SLOW]
    groups = {words: selectable(universe, words, periodic=periodic) for words in chosen_words}
    groups = {words: group for words, group in groups.items() if group is not None}
    assert sum(words in SELECTIONS for words in groups) >= 50
    chosen = frames_of(name, universe)
    expected: dict[str, list[np.ndarray]] = {words: [] for words in groups}
    for _ in universe.trajectory[chosen]:
        for words in list(groups):
            try:
                expected[words].append(groups[words].ix)
            except (MDAnalysis.NoDataError, AttributeError, *TOO_LARGE):
                del groups[words], expected[words]
    analyses = {}
    for words, group in groups.items():
        try:
            analyses[words] = mdreel.Selection(group)
        except SelectionError:
            # No atom can match; or the topology lacks what MDAnalysis only needs in a frame that selects something.
            assert not any(map(len, expected[words])), words
    if name == "triclinic DCD":  # mdreel measures across the cell, MDAnalysis along its edges
        too_wide = [words for words in CYLINDERS if words in analyses and is_too_wide(analyses[words], chosen)]
        analyses = {words: one for words, one in analyses.items() if words not in too_wide}
    mdreel.run(list(analyses.values()), frames=chosen, backend="threads", n_workers=2)
    for words, analysis in analyses.items():
        for i, (frame, atoms) in enumerate(zip(chosen, expected[words], strict=True)):
            found = analysis.atoms_in(i).ix
            # Arrays that are equal need no sets of their atoms, which take longer than the selection.
            differing = set() if np.array_equal(found, atoms) else set(np.setxor1d(found, atoms).tolist())
            assert differing == (DIFFERING.get((name, words, frame), set()) if periodic else set()), (
                f"{words}, frame {frame}"
            )
