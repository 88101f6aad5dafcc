"""Tests of the PLUMED action in GROMACS: frames of mdrun are those that mdrun writes, and a consumer can hold it up.

They need a GROMACS with PLUMED (version 2025 and later): ``gmx``, or the program that ``MDREEL_GMX_PLUMED`` names.
"""

import os
import shutil
import subprocess
from typing import Any

import numpy as np
import pytest

import mdreel
from live.steering.gromacs import SETTINGS, WATER, gmx, structure
from mdreel.live.channels.status import Status
from plumed_engine import LONG, PlumedRuns, await_state, frames_of, read_file
from plumed_simulation import c_library

N_STEPS, STRIDE = 200, 20


def gmx_with_plumed() -> str | None:
    """Return the program of GROMACS that has PLUMED, if there is one."""
    program = os.environ.get("MDREEL_GMX_PLUMED") or shutil.which("gmx")
    if program is None:
        return None
    command = [program, "-quiet", "mdrun", "-h"]
    said = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LONG).stdout
    return program if "-plumed" in said else None


@pytest.fixture(scope="module", autouse=True)
def program() -> str:
    """Return the program, or skip the tests before anything is compiled."""
    found = gmx_with_plumed()
    if found is None or structure() is None:
        pytest.skip("there is no GROMACS with PLUMED (MDREEL_GMX_PLUMED can name one)")
    return found


@pytest.fixture
def mdrun(program: str, plumed: PlumedRuns, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    """Write the input of a run of water; return the command of the run."""
    monkeypatch.setenv("PLUMED_KERNEL", str(c_library().with_name("libplumedKernel.so")))
    folder, conf = plumed.folder, structure()
    assert conf is not None
    (folder / "conf.gro").write_bytes(conf.read_bytes())
    (folder / "water.top").write_text(WATER)
    settings = SETTINGS.format(steps=N_STEPS, stride=0, full=STRIDE, seed=7)
    (folder / "md.mdp").write_text(settings)
    gmx(folder, "grompp", "-f", "md.mdp", "-c", "conf.gro", "-p", "water.top", "-o", "md.tpr")
    return (program, "-quiet", "mdrun", "-deffnm", "md", "-plumed", "plumed.dat", "-ntmpi", "1", "-ntomp", "1")


def test_frames_are_those_that_mdrun_writes(plumed: PlumedRuns, mdrun: tuple[str, ...]) -> None:
    plumed.write_input(f"MDREEL_CHANNEL CHANNEL=water STRIDE={STRIDE} CONSUMERS=1")
    with plumed.start(*mdrun) as process:
        frames = frames_of("water")
        plumed.finish(process)
    written = read_file(plumed.folder / "md.trr")
    assert [frame.step for frame in frames] == list(range(0, N_STEPS + 1, STRIDE))
    np.testing.assert_allclose([frame.time for frame in frames], written.times, rtol=1e-6)
    np.testing.assert_allclose([frame.box for frame in frames], written.vectors, rtol=1e-6, atol=1e-5)
    edge = written.vectors[0, 0, 0]
    apart = np.array([frame.positions for frame in frames]) - written.positions
    # Between two searches for neighbours, mdrun does not put atoms that leave the cell on its other side.
    np.testing.assert_allclose(apart - edge * np.round(apart / edge), 0.0, atol=2e-5)
    assert Status.read("water").state == "finished"


def test_live_analysis_is_that_of_the_written_trajectory(plumed: PlumedRuns, mdrun: tuple[str, ...]) -> None:
    plumed.write_input(f"MDREEL_CHANNEL CHANNEL=water STRIDE={STRIDE} CONSUMERS=1")
    atoms = np.arange(0, 648, 3, dtype=np.uint32)  # oxygen atoms

    def rdf(source: Any) -> Any:
        import MDAnalysis

        universe = MDAnalysis.Universe(plumed.folder / "conf.gro")
        oxygens = universe.atoms[atoms]
        return mdreel.InterRDF(oxygens, oxygens, range=(0, 9), exclude_same="residue").run(source=source).results.count

    with plumed.start(*mdrun) as process:
        live = rdf(mdreel.live.channel("water", wait=LONG, timeout=LONG))
        plumed.finish(process)
    written = rdf(mdreel.open(plumed.folder / "md.trr"))
    assert written.sum() > 10_000
    # A distance on the edge of a bin may be in the next bin, because both come from rounded positions.
    assert np.abs(live - written).sum() <= 4


def test_slow_consumer_holds_mdrun_up_and_loses_nothing(plumed: PlumedRuns, mdrun: tuple[str, ...]) -> None:
    plumed.write_input(f"MDREEL_CHANNEL CHANNEL=water STRIDE={STRIDE} CONSUMERS=1 SLOTS=2")
    with plumed.start(*mdrun) as process:
        with mdreel.live.Consumer("water", wait=LONG, timeout=LONG) as consumer:
            steps = [next(iter(consumer)).step]
            await_state("water", lambda status: status.n_published >= 2)
            assert process.poll() is None
            steps += [frame.step for frame in consumer]
        plumed.finish(process)
    assert steps == list(range(0, N_STEPS + 1, STRIDE))


def test_action_of_other_atoms_ends_mdrun_with_a_message(plumed: PlumedRuns, mdrun: tuple[str, ...]) -> None:
    plumed.write_input("MDREEL_CHANNEL CHANNEL=water ATOMS=1-700")
    with plumed.start(*mdrun) as process:
        said = plumed.fail(process)
    assert "atom 649 out of range" in said
