"""The real command, run in a process of its own on real files."""

import os
import subprocess
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from forked_python.command import forked_python

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run mdreel in an empty directory; its input is closed, its output is a pipe."""

    def run_mdreel(*arguments: str | Path, **settings: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [forked_python(), "-m", "mdreel.cli", *map(str, arguments)],
            cwd=tmp_path,
            env={**os.environ, **settings},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return run_mdreel


@pytest.fixture(scope="session")
def adk(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Adenylate kinase: its topology, a structure, its DCD trajectory, and the same as XTC."""
    datafiles = pytest.importorskip("MDAnalysisTests.datafiles")
    import MDAnalysis

    directory = tmp_path_factory.mktemp("adk")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        universe = MDAnalysis.Universe(datafiles.PSF, datafiles.DCD)
        with MDAnalysis.Writer(str(directory / "adk.xtc"), universe.atoms.n_atoms) as writer:
            for _ in universe.trajectory:
                writer.write(universe.atoms)
        universe.trajectory[50]
        universe.atoms.write(str(directory / "frame50.pdb"))
    return {
        "psf": Path(datafiles.PSF),
        "dcd": Path(datafiles.DCD),
        "xtc": directory / "adk.xtc",
        "pdb": directory / "frame50.pdb",
    }


@pytest.fixture(scope="session")
def expected(adk: dict[str, Path]) -> Callable[..., np.ndarray]:
    """MDAnalysis's answer: rows of frame, time (ps), RMSD (Å)."""
    import MDAnalysis
    from MDAnalysis.analysis.rms import RMSD

    def compute(kind: str = "dcd", selection: str = "protein and name CA", **settings: object) -> np.ndarray:
        window = {name: settings.pop(name, None) for name in ("start", "stop", "step")}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            atoms = MDAnalysis.Universe(str(adk["psf"]), str(adk[kind])).select_atoms(selection)
            if "reference" in settings:
                settings["reference"] = MDAnalysis.Universe(str(settings["reference"])).select_atoms(selection)
            return np.asarray(RMSD(atoms, **settings).run(**window).results.rmsd)

    return compute
