"""Tests of the oracle of the fault run: it notices what should not be."""

from dataclasses import replace
from pathlib import Path

import pytest

from fault_run.cast import Actor, Group, Place, channel_named
from fault_run.committed_steps import CommittedSteps
from fault_run.journal import Journal, Put, Taken, expected_digest
from fault_run.oracle import Verdict, _judge_group, _judge_lifetimes, _judge_simulation
from fault_run.rounds import Outcome

LOSSY = channel_named("lossy")
N_FRAMES = 20
READER = Actor("lossy-anna-read", "anna", "read", "lossy")


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path, tmp_path, tmp_path / "token", "tcp/127.0.0.1:7447", 0)


def digest(number: int) -> int:
    return expected_digest("lossy0", 10 * number, LOSSY.n_atoms)


def verdict_on_lines(place: Place, lines: list[Taken]) -> list[str]:
    with place.journal(READER.name).open("w") as journal:
        for line in lines:
            journal.write(f"F {line.sequence} {line.epoch} {line.step} {line.digest} {line.missed}\n")
    verdict = Verdict()
    _judge_lifetimes(READER, place, verdict)
    return verdict.discrepancies


def test_oracle_notices_what_is_lost_repeated_or_torn_for_a_reader(place: Place) -> None:
    numbers = [0, 1, 4, 5]
    good = [Taken(number, 0, 10 * number, digest(number), 0 if number < 4 else 2) for number in numbers]
    assert verdict_on_lines(place, good) == []
    for changed, word in [
        ([*good[:2], *(replace(line, missed=1) for line in good[2:])], "lost"),
        ([*good[:2], *(replace(line, missed=3) for line in good[2:])], "lost"),
        ([*good, good[-1]], "repeated"),
        ([replace(good[0], digest=1), *good[1:]], "torn"),
    ]:
        (found,) = [said for said in verdict_on_lines(place, changed) if said.startswith(word)]
        assert READER.name in found


def test_oracle_notices_what_is_lost_repeated_or_torn_in_committed_results(place: Place) -> None:
    group = Group("anna", "work", 2, share=True, is_lossless=True)

    def verdict_on(first: range, second: range, n_missed: int = 0, digest_of_all: int = 0) -> list[str]:
        members = []
        for member, numbers in enumerate((first, second)):
            steps = CommittedSteps(digests=digest_of_all)
            for number in numbers:
                steps.add(number, digest(number))
            said = {"member": member, "left": None, "end": "finished", "missed": n_missed}
            members.append({**said, "blob": steps.blob().hex()})
        verdict = Verdict(n_published={"lossy": N_FRAMES})
        _judge_group(LOSSY, group, members, place, verdict)
        return [said.partition(":")[0] for said in verdict.discrepancies]

    assert verdict_on(range(0, N_FRAMES, 2), range(1, N_FRAMES, 2)) == []
    assert "lost" in verdict_on(range(5), range(6, N_FRAMES))
    assert "repeated" in verdict_on(range(6), range(5, N_FRAMES))
    assert verdict_on(range(5), range(5, N_FRAMES), digest_of_all=1) == ["torn"]
    assert len(verdict_on(range(5), range(5, N_FRAMES), n_missed=1)) == 1


def test_oracle_notices_a_blocked_producer_that_drops_frames(place: Place) -> None:
    journal = Journal(place.journal("lossy-simulation"))
    journal.put(Put(0, 0, "ring", 100.0, 0.01))
    journal.put(Put(1, 10, "ring", 101.0, 3.0))
    journal.event("ended", n_frames=2)
    for stops, n_found in [([], 1), ([(100.5, 103.9)], 0)]:
        verdict = Verdict()
        _judge_simulation(LOSSY, place, Outcome(stops={"lossy-simulation": stops}), verdict)
        assert len(verdict.discrepancies) == n_found
        assert verdict.longest_publish["lossy"] == pytest.approx(0.01 if stops else 3.0, abs=0.2)


def test_step_that_is_done_twice_is_refused() -> None:
    steps = CommittedSteps()
    steps.add(9, 1)
    with pytest.raises(AssertionError, match="repeated"):
        CommittedSteps.from_blob(steps.blob()).add(9, 1)
