"""Analyses of MDAnalysis on our executors: the same results, our readers in the workers, and what is refused."""

from pathlib import Path
from typing import Any

import MDAnalysis
import numpy as np
import pytest
from MDAnalysis.analysis.base import AnalysisBase
from MDAnalysis.analysis.dihedrals import Ramachandran
from MDAnalysis.analysis.results import ResultsGroup
from MDAnalysis.analysis.rms import RMSD, RMSF
from MDAnalysisTests.datafiles import PSF

import mdreel
from mdreel.errors import FunctionError, MismatchError, UnsupportedError

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")


class Watched(AnalysisBase):  # type: ignore[misc]
    """Says who reads, and raises at a frame."""

    _analysis_algorithm_is_parallelizable = True

    @classmethod
    def get_supported_backends(cls) -> tuple[str, ...]:
        return ("serial", "multiprocessing")

    def __init__(self, atomgroup: MDAnalysis.AtomGroup, raises_at: int = -1) -> None:
        super().__init__(atomgroup.universe.trajectory)
        self.atomgroup, self._raises_at = atomgroup, raises_at

    def _prepare(self) -> None:
        self.results.readers = []

    def _single_frame(self) -> None:
        if self._ts.frame == self._raises_at:
            raise RuntimeError("enough")
        assert self.atomgroup.universe.trajectory is self._trajectory
        self.results.readers.append(type(self._trajectory).__module__)

    def _get_aggregator(self) -> ResultsGroup:
        return ResultsGroup({"readers": ResultsGroup.flatten_sequence})


@pytest.fixture
def universe(adk_xtc: Path) -> MDAnalysis.Universe:
    return MDAnalysis.Universe(PSF, str(adk_xtc))


@pytest.mark.parametrize("name", ["serial", "threads", "processes", "dask"])
def test_analyses_give_the_same_on_our_executors(universe: MDAnalysis.Universe, name: str) -> None:
    n_workers = 1 if name == "serial" else 2
    own = mdreel.mdanalysis.backend(name, n_workers)
    chosen: dict[str, Any] = {"backend": own, "n_workers": n_workers, "step": 3, "n_parts": 5}
    expected = RMSD(universe.atoms, select="name CA").run(step=3).results.rmsd
    found = RMSD(universe.atoms, select="name CA").run(**chosen)
    np.testing.assert_array_equal(found.results.rmsd, expected)
    np.testing.assert_array_equal(found.frames, range(0, 98, 3))
    assert own.timing is not None
    assert own.timing.n_blocks == 5
    watched = Watched(universe.atoms).run(**chosen).results.readers
    assert set(watched) == {"mdreel.mdanalysis.xdr"}
    assert len(watched) == 33
    assert type(universe.trajectory).__module__ == "MDAnalysis.coordinates.XTC"  # the caller's is left alone


def test_chains_and_transformations_come_along(adk_xtc: Path) -> None:
    from MDAnalysis.transformations import translate

    universe = MDAnalysis.Universe(PSF, [str(adk_xtc), str(adk_xtc)])
    found = Ramachandran(universe.residues[:20]).run(backend=mdreel.mdanalysis.backend("processes", 2))
    np.testing.assert_array_equal(found.results.angles, Ramachandran(universe.residues[:20]).run().results.angles)
    moved = MDAnalysis.Universe(PSF, str(adk_xtc), transformations=[translate([1, 2, 3])])
    expected = RMSD(moved.atoms, select="name CA", superposition=False).run().results.rmsd
    rmsd = RMSD(moved.atoms, select="name CA", superposition=False).run(backend=mdreel.mdanalysis.backend("threads", 2))
    np.testing.assert_array_equal(rmsd.results.rmsd, expected)


@pytest.mark.parametrize("name", ["serial", "processes"])
def test_frame_at_which_an_analysis_raises_is_named(universe: MDAnalysis.Universe, name: str) -> None:
    with pytest.raises(FunctionError, match=r"adk\.xtc: Watched: frame 77: RuntimeError: enough"):
        Watched(universe.atoms, raises_at=77).run(backend=mdreel.mdanalysis.backend(name), n_parts=4)


def test_what_cannot_be_is_refused(universe: MDAnalysis.Universe) -> None:
    with pytest.raises(ValueError, match="Can not parallelize class"):
        RMSF(universe.select_atoms("name CA")).run(backend=mdreel.mdanalysis.backend("threads"))
    with pytest.raises(UnsupportedError, match="unknown backend 'fast'"):
        mdreel.mdanalysis.backend("fast")
    with pytest.raises(MismatchError, match="serial executor has 1 worker"):
        mdreel.mdanalysis.backend("serial", 4)
    with pytest.raises(UnsupportedError, match="give options to the executor"):
        mdreel.mdanalysis.backend(mdreel.Threads(2), schedule="static")
    assert mdreel.mdanalysis.backend("threads", 3, schedule="static").executor.schedule == "static"
    unsendable = Watched(universe.atoms)
    unsendable.lock = (i for i in "ab")
    with pytest.raises(UnsupportedError, match="the analysis cannot be sent"):
        unsendable.run(backend=mdreel.mdanalysis.backend("threads", 2))
