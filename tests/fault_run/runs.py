"""Run of several rounds, with a line of figures for each."""

import shutil
import time
from collections import Counter
from pathlib import Path

from fault_run.cast import HOSTS, PORT, Place
from fault_run.host_agents import agents_on
from fault_run.oracle import Verdict, judge_round
from fault_run.plan import draw
from fault_run.rounds import FaultRunError, Outcome, Round
from mdreel_lab.bench.rigs.hosts import network_hosts


def run(seed: int, seconds: float, folder: Path, round_seconds: float, first_round: int = 0) -> None:
    """Run rounds for so many s. Raise FaultRunError at the first that is not good, whose journals stay in `folder`."""
    begun = time.monotonic()
    number, published, applied, restarts = first_round, Counter[str](), Counter[str](), Counter[str]()
    longest, n_taken = 0.0, 0
    (folder / "hosts").mkdir()
    with network_hosts(HOSTS, folder / "hosts") as hosts, agents_on(hosts, folder) as agents:
        token = folder / "token"
        token.touch(0o600)
        token.write_text("a token of the fault run")
        while (left := seconds - (time.monotonic() - begun)) > 1 or number == first_round:
            length = min(round_seconds, max(left, 10.0))
            home = folder / f"round-{number}"
            home.mkdir()
            place = Place(home, folder, token, f"tcp/{hosts[0].address}:{PORT + number % 1000}", number)
            faults = draw(seed, number, length)
            (home / "plan").write_text("".join(f"{fault}\n" for fault in faults))
            a_round = Round(agents, place, faults, length)
            try:
                outcome = a_round.play()
            except FaultRunError as error:
                raise FaultRunError(_report(seed, number, place, a_round.outcome, str(error))) from None
            verdict = judge_round(place, outcome)
            if verdict.discrepancies:
                said = "\n".join(verdict.discrepancies[:50])
                raise FaultRunError(_report(seed, number, place, outcome, said))
            print(_line(seed, number, outcome, verdict), flush=True)
            published.update(verdict.n_published)
            applied += outcome.applied
            restarts += outcome.restarts
            longest = max(longest, verdict.longest_publish["lossy"])
            n_taken += verdict.n_taken
            agents.command_all(do="forget")
            shutil.rmtree(home)
            number += 1
    print(
        f"seed {seed}: {number - first_round} rounds in {time.monotonic() - begun:.0f} s: "
        f"{published.total():,} frames published, {n_taken:,} taken; faults: {_counts(applied)}; "
        f"restarts: {_counts(restarts)}; longest publish of a lossy producer {longest:.3f} s; "
        "0 lost, 0 repeated, 0 torn, 0 hangs, 0 blocked lossy producers",
        flush=True,
    )


def _line(seed: int, number: int, outcome: Outcome, verdict: Verdict) -> str:
    longest = ", ".join(f"{name} {seconds:.3f}" for name, seconds in verdict.longest_publish.items())
    return (
        f"seed {seed}, round {number}, {outcome.seconds:.0f} s: published {_counts(verdict.n_published)}; "
        f"taken {verdict.n_taken:,}; counted as missed {_counts(verdict.n_missed)}; faults {_counts(outcome.applied)}; "
        f"restarts {_counts(outcome.restarts)}; refused on a full disk {verdict.n_refused}; "
        f"longest publish, s: {longest}"
    )


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {n:,}" for name, n in sorted(counts.items()))


def _report(seed: int, number: int, place: Place, outcome: Outcome, discrepancy: str) -> str:
    """Return what is known of a round that is not good."""
    events = "\n".join(outcome.events)
    again = f"python -m fault_run --seed {seed} --first-round {number}"
    return f"seed {seed}, round {number} ({again}); journals in {place.folder}\n{events}\n{discrepancy}"
