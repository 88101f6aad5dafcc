"""Tests of the PLUMED action that publishes the frames of a simulation."""

import re
import signal
import threading
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import MDAnalysis as mda
import numpy as np
import pytest
from MDAnalysisTests.datafiles import DCD, PSF, XTC
from numpy.typing import NDArray

import mdreel
from mdreel.errors import StreamError
from mdreel.live.channels.consumer import Consumer
from mdreel.live.channels.frame import Frame
from mdreel.live.channels.status import Status
from mdreel.live.producers.producer import Producer
from plumed_engine import LONG, PlumedRuns, await_state, frames_of, read_file

N_ARGON = 216
INTERVAL = 5
ARGON = "MDREEL_CHANNEL CHANNEL=argon STRIDE=5 CONSUMERS=1"
SIMPLE_MD = """\
nstep 100
temperature 0.722
tstep 0.005
friction 1
forcecutoff 2.5
listcutoff 3.0
ndim 3
inputfile start.xyz
outputfile end.xyz
nstat 100 energies.dat
nconfig 10 trajectory.xyz
"""
ADK = ("--mf_dcd", DCD, "--timestep", "0.5")


@pytest.fixture
def simulated(plumed: PlumedRuns) -> PlumedRuns:
    """Skip the test without OpenMM."""
    pytest.importorskip("openmm", reason="openmm is not installed")
    return plumed


def positions_of(frames: list[Frame]) -> NDArray[Any]:
    return np.array([frame.positions for frame in frames])


def refused(plumed: PlumedRuns, *lines: str) -> str:
    """Return the message of a run of AdK that an action stops."""
    plumed.write_input(*lines)
    with plumed.driver(*ADK) as process:
        return plumed.fail(process)


def test_frames_of_the_driver_are_those_of_the_file(plumed: PlumedRuns) -> None:
    plumed.write_input("MDREEL_CHANNEL CHANNEL=adk STRIDE=50000 CONSUMERS=1")
    with plumed.driver("--ixtc", XTC, "--timestep", "0.002", "--trajectory-stride", "50000") as process:
        frames = frames_of("adk")
        plumed.finish(process)
    written = read_file(XTC)
    assert [frame.step for frame in frames] == [50_000 * i for i in range(10)]
    np.testing.assert_allclose([frame.time for frame in frames], written.times, rtol=1e-6)
    np.testing.assert_array_equal(positions_of(frames), written.positions)
    np.testing.assert_allclose([frame.box for frame in frames], written.vectors, rtol=1e-6, atol=1e-6)
    status = Status.read("adk")
    assert (status.state, status.n_published) == ("finished", 10)


def test_live_rmsd_is_that_of_the_archive_and_of_the_file(plumed: PlumedRuns, tmp_path: Path) -> None:
    pytest.importorskip("h5py", reason="h5py is not installed")
    plumed.write_input("MDREEL_CHANNEL CHANNEL=adk CONSUMERS=2")
    archive = tmp_path / "adk.h5md"
    archiver = threading.Thread(target=lambda: mdreel.live.archive("adk", archive, wait=LONG, timeout=LONG))

    def rmsd(**source: Any) -> NDArray[np.float64]:
        universe = mda.Universe(PSF, DCD)
        return mdreel.RMSD(universe.select_atoms("name CA")).run(**source).results.rmsd

    with plumed.driver(*ADK) as process:
        archiver.start()
        live = rmsd(source=mdreel.live.channel("adk", wait=LONG, timeout=LONG))
        plumed.finish(process)
        archiver.join()
    np.testing.assert_array_equal(live, rmsd(source=mdreel.open(archive)))
    # The driver converts the file to nm as float32, and the action back to angstrom.
    written = rmsd(source=mdreel.open(DCD))
    assert live.shape == written.shape == (98, 3)
    np.testing.assert_allclose(live[:, 1], 0.5 * np.arange(98), rtol=1e-6)
    np.testing.assert_allclose(live[:, 2], written[:, 2], atol=1e-5)


@pytest.mark.parametrize(
    ("units", "words", "dtype"),
    [
        ("", (), "float32"),
        ("", ("--length-unit", "0.1"), "float32"),
        ("", ("--single",), "float32"),
        ("UNITS LENGTH=A TIME=fs ENERGY=kcal/mol", (), "float64"),
    ],
    ids=["nm", "MD code in angstrom", "MD code in float32", "PLUMED in angstrom and fs"],
)
def test_frames_of_openmm_are_those_that_it_writes(
    simulated: PlumedRuns, tmp_path: Path, units: str, words: tuple[str, ...], dtype: str
) -> None:
    simulated.write_input(units, f"{ARGON} DTYPE={dtype}")
    with simulated.simulation(100, *words) as process:
        frames = frames_of("argon")
        simulated.finish(process)
    steps = list(range(INTERVAL, 101, INTERVAL))
    assert [frame.step for frame in frames] == steps
    np.testing.assert_allclose([frame.time for frame in frames], 0.004 * np.array(steps), rtol=1e-14)
    found = positions_of(frames)
    assert found.dtype == dtype
    kept = 10 * np.load(tmp_path / "positions.npy")
    np.testing.assert_allclose(found, kept, rtol=1e-14 if dtype == "float64" else 2e-7, atol=1e-14)
    if not words:
        np.testing.assert_array_equal(found.astype(np.float32), read_file(tmp_path / "md.dcd").positions)
    np.testing.assert_allclose([frame.box for frame in frames], np.broadcast_to(np.diag([24.0] * 3), (20, 3, 3)))


def test_frames_of_the_md_program_of_plumed_are_those_that_it_writes(plumed: PlumedRuns, tmp_path: Path) -> None:
    lattice = 1.7 * np.array([[0, 0, 0], [0, 0.5, 0.5], [0.5, 0, 0.5], [0.5, 0.5, 0]])
    cells = 1.7 * np.stack(np.meshgrid(*[np.arange(4)] * 3), -1).reshape(-1, 1, 3)
    rows = (cells + lattice).reshape(-1, 3)
    lines = [str(len(rows)), "6.8 6.8 6.8", *(f"Ar {x} {y} {z}" for x, y, z in rows)]
    (tmp_path / "start.xyz").write_text("\n".join([*lines, ""]))
    (tmp_path / "input").write_text(SIMPLE_MD)
    plumed.write_input("MDREEL_CHANNEL CHANNEL=argon STRIDE=10 CONSUMERS=1")
    with plumed.start("plumed", "simplemd", "input") as process:
        frames = frames_of("argon")
        plumed.finish(process)
    text = (tmp_path / "trajectory.xyz").read_text().split()
    written = np.array([word for word in text if word != "Ar"], float).reshape(10, -1)[:, 4:]
    assert [frame.step for frame in frames] == list(range(10, 101, 10))
    np.testing.assert_allclose(positions_of(frames), 10 * written.reshape(10, -1, 3), atol=1e-4)


def test_atoms_come_in_the_order_of_the_input_and_steps_as_it_says(plumed: PlumedRuns) -> None:
    plumed.write_input(
        "MDREEL_CHANNEL CHANNEL=adk ATOMS=7,3,100-110:5 STRIDE=4 UPDATE_FROM=10 UPDATE_UNTIL=20 CONSUMERS=1"
    )
    with plumed.driver(*ADK) as process:
        frames = frames_of("adk")
        plumed.finish(process)
    steps = [frame.step for frame in frames]
    assert steps == [step for step in range(0, 98, 4) if 10 <= 0.5 * step < 20]
    written = read_file(DCD).positions[steps][:, [6, 2, 99, 104, 109]]
    np.testing.assert_allclose(positions_of(frames), written, rtol=2e-7)
    assert {frame.box for frame in frames} == {None}


def test_molecules_are_whole_if_plumed_has_made_them_whole(simulated: PlumedRuns, tmp_path: Path) -> None:
    simulated.write_input("WHOLEMOLECULES ENTITY0=1,180", ARGON)
    with simulated.simulation(20) as process:
        frames = frames_of("argon")
        simulated.finish(process)
    found, kept = positions_of(frames), 10 * np.load(tmp_path / "positions.npy")
    apart = kept[:, 179] - kept[:, 0]
    assert (np.abs(apart) > 12.0).any()
    kept[:, 179] -= 24.0 * np.round(apart / 24.0)
    np.testing.assert_allclose(found, kept, atol=1e-5)


def test_step_that_is_computed_again_is_published_once(simulated: PlumedRuns) -> None:
    """Check that a run of LAMMPS, which begins with the forces of the last step, adds no frame."""
    simulated.write_input(ARGON)
    with simulated.simulation(20, "--twice") as process:
        frames = frames_of("argon")
        simulated.finish(process)
    assert [frame.step for frame in frames] == [5, 10, 15, 20]


@pytest.mark.parametrize("end", ["finalize", "run-final-jobs"])
def test_end_of_the_simulation_ends_the_channel(simulated: PlumedRuns, end: str) -> None:
    simulated.write_input(ARGON)
    with simulated.simulation(20, "--end", end) as process:
        assert len(frames_of("argon")) == 4
        simulated.finish(process)
    assert Status.read("argon").state == "finished"


@pytest.mark.parametrize("is_killed", [True, False])
def test_death_of_the_simulation_is_reported_to_consumers(simulated: PlumedRuns, is_killed: bool) -> None:
    simulated.write_input(ARGON)
    words = () if is_killed else ("--end", "exit")
    with simulated.simulation(1_000_000 if is_killed else 20, *words) as process:
        with Consumer("argon", wait=LONG, timeout=LONG) as consumer:
            assert consumer.next() is not None
            if is_killed:
                process.kill()
            with pytest.raises(StreamError, match="the producer was lost"):
                for _ in consumer:
                    pass
        assert process.wait(LONG) == (-signal.SIGKILL if is_killed else 0), simulated.said()
    assert Status.read("argon").state == "lost"


def test_error_of_plumed_is_reported_to_consumers(plumed: PlumedRuns) -> None:
    plumed.write_input("MDREEL_CHANNEL CHANNEL=adk", "DISTANCE ATOMS=1,2 NO_SUCH_KEYWORD=1")
    with plumed.driver(*ADK) as process:
        plumed.fail(process)
    with pytest.raises(StreamError, match="the simulation has failed: PLUMED or the MD code raised an error"):
        frames_of("adk")


def test_restarted_simulation_continues_the_channel(simulated: PlumedRuns) -> None:
    """Check that a consumer receives each step once if the steps behind the checkpoint are computed again."""
    simulated.write_input(ARGON)
    steps: list[int] = []

    def take() -> None:
        steps.extend(frame.step for frame in frames_of("argon", restart=LONG))

    reader = threading.Thread(target=take)
    reader.start()
    with simulated.simulation(50, "--end", "exit") as process:
        simulated.finish(process)
    await_state("argon", lambda status: status.state == "lost")
    with simulated.simulation(50, "--first", "30") as process:
        simulated.finish(process)
    reader.join(LONG)
    assert steps == list(range(INTERVAL, 81, INTERVAL))
    assert Status.read("argon").state == "finished"


def test_new_simulation_is_a_new_run(plumed: PlumedRuns) -> None:
    for stop in (1, 2):
        plumed.write_input("MDREEL_CHANNEL CHANNEL=adk ATOMS=1-10 SLOTS=128")
        with plumed.driver(*ADK) as process:
            plumed.finish(process)
        assert (Status.read("adk").state, Status.read("adk").epoch) == ("finished", stop - 1)
    assert [frame.step for frame in frames_of("adk", on_late="ignore")] == list(range(98))


def test_simulation_that_a_reader_blocks_waits_and_names_it(plumed: PlumedRuns) -> None:
    plumed.write_input("MDREEL_CHANNEL CHANNEL=adk SLOTS=4 CONSUMERS=1")
    with plumed.driver(*ADK) as process, Consumer("adk", wait=LONG, timeout=LONG) as consumer:
        until = monotonic() + LONG
        while "has not taken the frame 4 before it; the simulation waits for it" not in plumed.said():
            assert monotonic() < until
            sleep(0.05)
        assert [frame.step for frame in consumer] == list(range(98))
        plumed.finish(process)


def test_simulation_fails_if_a_reader_blocks_it_for_too_long(plumed: PlumedRuns) -> None:
    plumed.write_input("MDREEL_CHANNEL CHANNEL=adk SLOTS=4 CONSUMERS=1 TIMEOUT=0.2")
    with plumed.driver(*ADK) as process, Consumer("adk", wait=LONG, timeout=LONG) as consumer:
        text = plumed.fail(process)
        assert "has not taken the frame 4 before it" in text
        assert "pytest" in text  # the process that has not taken it
        with pytest.raises(StreamError, match=r"the simulation has failed: .*no room for frame 4"):
            for _ in consumer:
                pass


def test_simulation_drops_frames_if_it_is_told_not_to_wait(plumed: PlumedRuns) -> None:
    plumed.write_input("MDREEL_CHANNEL CHANNEL=adk SLOTS=4 CONSUMERS=1 FULL=drop-oldest")
    with plumed.driver(*ADK) as process, Consumer("adk", wait=LONG, timeout=LONG):
        plumed.finish(process)
    status = Status.read("adk")
    assert (status.state, status.n_published, status.n_dropped) == ("finished", 98, 94)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("STRIDE=1", "CHANNEL is compulsory"),
        ("CHANNEL=a,b", "CHANNEL must be 1 to 64 letters, digits, '.', '_' and '-', .*, not 'a,b'"),
        ("CHANNEL=/no/such/folder/adk", "create the folder /no/such/folder/, or give CHANNEL a name without a slash"),
        ("CHANNEL=adk STRIDE=0", "STRIDE must be 1 or more"),
        ("CHANNEL=adk FULL=spill", "FULL must be block or drop-oldest, not spill"),
        ("CHANNEL=adk DTYPE=xtc", "DTYPE must be float32 or float64, not xtc"),
        ("CHANNEL=adk TIMEOUT=-1", "TIMEOUT must be 0 to 1e9 seconds"),
        ("CHANNEL=adk SLOTS=1", "SLOTS must be 2 or more"),
        ("CHANNEL=adk ATOMS=1-4000", "atom 3342 out of range"),
        ("CHANNEL=adk NO_SUCH_KEYWORD=1", "NO_SUCH_KEYWORD"),
        ("CHANNEL=adk CONSUMERS=1 TIMEOUT=0.1", "0 of 1 consumers joined within 0.1 s"),
        ("CHANNEL=adk CONSUMERS=2000", "a channel has at most 1024, got 2000"),
    ],
)
def test_bad_input_is_refused_with_a_remedy(plumed: PlumedRuns, line: str, expected: str) -> None:
    assert re.search(expected, refused(plumed, f"MDREEL_CHANNEL {line}"))


def test_natural_units_are_refused(plumed: PlumedRuns) -> None:
    text = refused(plumed, "UNITS NATURAL", "MDREEL_CHANNEL CHANNEL=adk")
    assert "the units are natural; use an MD code, or UNITS, with physical units" in text


def test_channel_of_another_simulation_is_refused(plumed: PlumedRuns, folder: Path) -> None:
    plumed.write_input("MDREEL_CHANNEL CHANNEL=adk")
    with plumed.driver(*ADK) as process:
        plumed.finish(process)
    text = refused(plumed, "MDREEL_CHANNEL CHANNEL=adk ATOMS=1-10")
    assert "use the same settings, or remove the channel or choose another name" in text
    with Producer("other", 3341):
        text = refused(plumed, "MDREEL_CHANNEL CHANNEL=other")
        assert "the channel has a running producer" in text
    folder.chmod(0o755)
    text = refused(plumed, "MDREEL_CHANNEL CHANNEL=third")
    assert "another user owns this folder or has access to it; set MDREEL_CHANNELS" in text
    folder.chmod(0o700)


def test_topology_with_another_number_of_atoms_is_refused(plumed: PlumedRuns) -> None:
    plumed.write_input("MDREEL_CHANNEL CHANNEL=adk ATOMS=1-10")
    with plumed.driver(*ADK) as process:
        plumed.finish(process)
    atoms = mda.Universe(PSF, DCD).select_atoms("name CA")
    with pytest.raises(ValueError, match=r"3,?341.*10|10.*3,?341"):
        mdreel.RMSD(atoms).run(source=mdreel.live.channel("adk"))
