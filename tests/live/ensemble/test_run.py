"""Tests of runs of ensembles with replicas that die, hang or fail."""

import random
import sys
from collections import Counter

import pytest

from live.ensemble.conftest import Walks

FRAMES = 120

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")


def labels(n_replicas: int) -> list[str]:
    return [f"{number:03}" for number in range(n_replicas)]


def test_ensemble_has_the_results_of_the_trajectories_of_its_replicas(walks: Walks) -> None:
    walks.say(5, FRAMES, settings="at-once = 3")
    said = walks.run()
    assert "5 of 5 replicas have finished" in said
    walks.check(labels(5), FRAMES)
    assert [one["state"] for one in walks.status()] == ["finished"] * 5
    assert walks.events("004") == ["started", "observed", "finished"]
    assert list((walks.folder / "channels").iterdir()) == []  # their memory is given back
    summary = (walks.place / "results" / "replicas.csv").read_text().splitlines()
    assert summary[0].startswith("replica,finished,deaths,frames,rmsd_rmsd_mean_angstrom,rmsd_rmsd_std_angstrom,")
    assert [line.split(",")[:4] for line in summary[1:]] == [[str(i), "1", "0", str(FRAMES)] for i in range(5)]
    mean = walks.table("replicas.csv")[3, 4]
    assert mean == pytest.approx(walks.table("003/rmsd.csv")[:, 2].mean(), rel=1e-12)


def test_finished_ensemble_does_nothing_when_it_is_run_again(walks: Walks) -> None:
    walks.say(2, FRAMES)
    walks.run()
    before = {path: path.stat().st_mtime_ns for path in walks.place.glob("00*/*")}
    assert "2 of 2 replicas were done before" in walks.run()
    assert {path: path.stat().st_mtime_ns for path in walks.place.glob("00*/*")} == before
    walks.check(labels(2), FRAMES)


@pytest.mark.parametrize("staging", [False, True])
def test_no_step_is_missing_or_repeated_when_replicas_are_killed(walks: Walks, staging: bool) -> None:
    # Before the first checkpoint, at one, behind one, and at the last frame.
    at = random.Random(5).choice(range(12, FRAMES - 1))
    for number, frame in enumerate((3, 9, at, FRAMES - 1)):
        walks.say(4, FRAMES, "--die-at", frame, "--only", number + 1, settings="at-once = 2", staging=staging)
        walks.run("--part", f"{number}/4")
    walks.check(labels(4), FRAMES)
    died = [walks.events(label) for label in labels(4)]
    assert all(Counter(events)["died"] == 1 and events[-1] == "finished" for events in died), died
    anew = ["started", "observed", "died", "started", "finished"]
    assert died[1:] == [anew] * 3  # from a checkpoint, with the analyses that there were
    assert [one["n_deaths"] for one in walks.status()] == [1] * 4


@pytest.mark.parametrize("staging", [False, True])
def test_simulation_that_fails_goes_on_with_staging_and_else_begins_anew(walks: Walks, staging: bool) -> None:
    walks.say(1, FRAMES, "--fail-at", 57, staging=staging)
    said = walks.run()
    assert "ended with exit status 1, its channel failed, after 58 frames" in said
    assert ("its analyses start again from staging" if staging else "starts again") in said
    walks.check(["000"], FRAMES)
    assert "frame 57 was too much" in (walks.place / "000" / "output.log").read_text()


def test_simulation_whose_staging_has_not_all_frames_begins_anew(walks: Walks) -> None:
    walks.python = sys.executable
    walks.say(1, FRAMES, "--fail-at", 97, "--keep", 20, staging=True)
    said = walks.run()
    assert "in staging, got step" in said
    assert said.index("its analyses start again from staging") < said.index("000 starts again")
    walks.check(["000"], FRAMES)


def test_replica_that_hangs_is_ended_and_started_again(walks: Walks) -> None:
    walks.python = sys.executable
    walks.say(2, FRAMES, "--hang-at", 33, "--only", 2, settings="patience = 15")
    said = walks.run()
    assert "it was ended because it published no frame for 15 s" in said
    assert walks.events("001")[:3] == ["started", "observed", "hung"]
    walks.check(labels(2), FRAMES)


def test_replica_that_dies_too_often_has_failed_and_the_others_go_on(walks: Walks) -> None:
    walks.say(4, FRAMES, "--die-at", 40, "--always", "--only", 2, settings="restarts = 2\nat-once = 1")
    said = walks.run(code=4)
    assert "1 of 4 replicas have failed (--retry tries them again)" in said
    assert "replica 001: ended with signal 9 (SIGKILL), its channel lost" in said
    assert f"it was restarted 2 times; see its output in {walks.place / '001' / 'output.log'}" in said
    walks.check(["000", "002", "003"], FRAMES)
    events = walks.events("001")
    assert (Counter(events)["started"], Counter(events)["died"], events[-1]) == (3, 3, "failed")
    assert not (walks.place / "results" / "001").exists()
    assert set(walks.table("rmsd.csv")[:, 0]) == {0, 2, 3}
    assert walks.table("replicas.csv")[:, 1].tolist() == [1, 0, 1, 1]

    assert "4 of 4 replicas were done before" in walks.run(code=4)  # nobody has asked for more
    walks.say(4, FRAMES, settings="restarts = 2")
    walks.run("--retry")
    walks.check(labels(4), FRAMES)


def test_program_that_publishes_nothing_is_dead_whatever_its_exit_status(walks: Walks) -> None:
    walks.say(1, FRAMES, settings="restarts = 1")
    content = (walks.folder / "e.toml").read_text()
    command = next(line for line in content.splitlines() if line.startswith("command"))
    walks.write(content.replace(command, 'command = ["true"]'))
    said = walks.run(code=4)
    assert "replica 000: ended with exit status 0, its channel absent, after 0 frames" in said


def test_program_that_is_not_there_ends_the_ensemble(walks: Walks) -> None:
    walks.say(3, FRAMES)
    content = (walks.folder / "e.toml").read_text()
    command = next(line for line in content.splitlines() if line.startswith("command"))
    walks.write(content.replace(command, 'command = ["no-such-program"]'))
    assert "command: no-such-program cannot be started: No such file or directory" in walks.run(code=3)
    walks.write(content)
    walks.run()
    walks.check(labels(3), FRAMES)


def test_ensemble_that_has_begun_is_not_taken_for_another(walks: Walks) -> None:
    walks.say(1, FRAMES)
    walks.run()
    content = (walks.folder / "e.toml").read_text()
    walks.write(content.replace('select = "all"', 'select = "name CA"', 1))
    said = walks.run(code=3)
    assert f"{walks.place}: this folder belongs to another ensemble: analysis was" in said
    walks.say(2, FRAMES)  # one more is none
    walks.run()
    walks.check(labels(2), FRAMES)


def test_directory_in_use_is_refused(walks: Walks) -> None:
    walks.say(2, FRAMES)
    (walks.place / "001").mkdir(parents=True)
    (walks.place / "001" / "mine").touch()
    said = walks.run(code=3)
    assert f"{walks.place / '001'}: a new replica needs an empty directory" in said
    assert not (walks.place / "000").exists()


def test_simulation_with_other_atoms_than_the_topology_has_failed(walks: Walks) -> None:
    walks.python = sys.executable
    walks.say(1, FRAMES)
    walks.universe.atoms[:4].write(walks.folder / "top.pdb")
    said = walks.run(code=4)
    assert "its analyses have failed" in said
    assert "the trajectory has 5 atoms, the topology has 4" in said


def test_simulation_that_does_not_wait_for_its_analyses_has_failed_and_not_fewer_frames(walks: Walks) -> None:
    walks.python = sys.executable
    walks.say(1, 10_000, "--no-wait")
    said = walks.run(code=4)
    assert "frames were overwritten before the analyses joined; let the simulation wait for them" in said


def test_simulation_runs_on_when_no_more_frames_of_it_are_wanted(walks: Walks) -> None:
    # Its ring has 8 slots: it would stand still if somebody stayed in the channel and took no more.
    walks.say(2, FRAMES, "--die-at", 70, "--only", 2, settings="[run]\nstop = 31\nstep = 3")
    walks.run()
    for label in labels(2):
        assert walks.table(f"{label}/rmsd.csv")[:, 0].tolist() == list(range(0, 31, 3))
        assert walks.events(label) == ["started", "observed", "finished"]
    assert (walks.place / "000" / "state.chk").read_text() == str(FRAMES)
    # All that was wanted of it was there.
    assert walks.status()[1]["message"].endswith("; then its program ended with signal 9 (SIGKILL)")


def test_parts_are_run_apart_and_the_last_writes_the_tables_of_all(walks: Walks) -> None:
    walks.say(5, FRAMES)
    said = walks.run("--part", "1/2")
    assert "3 of 3 replicas have finished" in said
    assert "2 replicas of other parts are left" in said
    assert not (walks.place / "results" / "rmsd.csv").exists()
    assert "2 of 2 replicas have finished" in walks.run("--part", "0/2")
    walks.check(labels(5), FRAMES)
    assert "--part: expected I/N" in walks.run("--part", "2/2", code=2)
