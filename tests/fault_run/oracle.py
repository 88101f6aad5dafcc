"""Judgement of a round: what was published, taken, committed and archived is compared."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import Any

from fault_run.archived_frames import check_archive
from fault_run.cast import CHANNELS, HOSTS, Actor, Channel, Group, Place, actors, channel_named
from fault_run.committed_steps import CommittedSteps, sum_of_digests
from fault_run.journal import STEPS_PER_FRAME, Event, Put, Taken, expected_digest, lines_of
from fault_run.rounds import Outcome

LONGEST_PUBLISH = 2.0
"""Bound for a producer that drops frames, s: far above what scheduling takes, and below the long stops of consumers."""


@dataclass
class Verdict:
    """What an oracle has found in a round.

    Attributes
    ----------
    discrepancies : list of str
        Everything that should not be; empty if the round is good.
    n_published, n_missed : dict
        Frames of each channel; frames that consumers without a guarantee have missed, and counted.
    longest_publish : dict
        Longest publication of each channel, s, without the time in which the simulation was stopped.
    n_taken : int
        Number of frames that all consumers together have taken.
    n_refused : int
        Number of publications and commits that were refused on a full disk.
    """

    discrepancies: list[str] = field(default_factory=list)
    n_published: dict[str, int] = field(default_factory=dict)
    n_missed: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    longest_publish: dict[str, float] = field(default_factory=dict)
    n_taken: int = 0
    n_refused: int = 0

    def expect(self, is_so: bool, otherwise: str) -> None:
        """Note a discrepancy unless something holds."""
        if not is_so:
            self.discrepancies.append(otherwise)


def judge_round(place: Place, outcome: Outcome) -> Verdict:
    """Return what a round was like; its journals are in the folder of the place."""
    verdict = Verdict()
    for channel in CHANNELS:
        _judge_simulation(channel, place, outcome, verdict)
    if verdict.discrepancies:
        return verdict
    for actor in actors():
        verdict.n_refused += sum(
            line.what["n_refused"]
            for line in lines_of(place.journal(actor.name))
            if isinstance(line, Event) and line.word == "full-disk"
        )
        if actor.role in ("commit", "read", "view"):
            _judge_lifetimes(actor, place, verdict)
        elif actor.role == "archive":
            file, is_whole = actor.options["file"], actor.options["is_whole"]
            _judge_archive(channel_named(actor.channel), actor.name, file, is_whole, place, verdict)
    for channel in CHANNELS:
        if channel.own_archive is not None:
            name = f"{channel.name}-own-archive"
            _judge_archive(channel, name, channel.own_archive, True, place, verdict)
    committed = _committed(place)
    for channel in CHANNELS:
        for group in channel.groups:
            _judge_group(channel, group, committed[group.host, channel.name, group.name], place, verdict)
    return verdict


def _judge_simulation(channel: Channel, place: Place, outcome: Outcome, verdict: Verdict) -> None:
    """Find out how many frames a channel has, and how long their publication took."""
    name = f"{channel.name}-simulation"
    stops = outcome.stops.get(name, [])
    n_frames, longest, numbers = None, 0.0, [-1]
    for line in lines_of(place.journal(name)):
        if isinstance(line, Event) and line.word == "ended":
            n_frames = line.what["n_frames"]
        elif isinstance(line, Put):
            numbers.append(line.sequence)
            end = line.began + line.seconds
            stopped = sum(max(0.0, min(end, until) - max(line.began, since)) for since, until in stops)
            longest = max(longest, line.seconds - stopped)
    verdict.longest_publish[channel.name] = longest
    verdict.expect(n_frames is not None, f"{name} has not ended its channel")
    verdict.expect(_grow(numbers), f"{name}: a number was given twice")
    verdict.n_published[channel.name] = n_frames or 0
    if channel.full == "drop-oldest":
        verdict.expect(longest < LONGEST_PUBLISH, f"{name} was blocked for {longest:.2f} s, and drops frames")


def _judge_lifetimes(actor: Actor, place: Place, verdict: Verdict) -> None:
    """Judge what each incarnation of a consumer has taken."""
    shares = bool(actor.options.get("share"))
    for taken in _lifetimes(lines_of(place.journal(actor.name))):
        verdict.n_taken += len(taken)
        for line in taken:
            verdict.expect(
                line.digest == _digest(place.channel(actor.channel), line.step, channel_named(actor.channel).n_atoms),
                f"torn: {actor.name} has taken step {line.step} with another digest",
            )
        if shares or not taken:
            continue
        steps, numbers = [line.step for line in taken], [line.sequence for line in taken]
        verdict.expect(_grow(steps) and _grow(numbers), f"repeated: steps of {actor.name} do not grow")
        first = taken[0]
        for n_more, line in enumerate(taken[1:], start=1):
            n_missed = line.missed - first.missed
            n_left_out = (line.step - first.step) // STEPS_PER_FRAME - n_more
            most = line.sequence - first.sequence - n_more
            if not n_left_out <= n_missed <= most:
                verdict.discrepancies.append(
                    f"lost: {actor.name} has missed {n_left_out} steps and {most} numbers between steps "
                    f"{first.step} and {line.step}, and counts {n_missed}"
                )
                break
        if actor.role != "view":
            verdict.n_missed[actor.channel] += taken[-1].missed - first.missed


def _judge_group(channel: Channel, group: Group, members: list[dict[str, Any]], place: Place, verdict: Verdict) -> None:
    """Judge what the members of a group have committed."""
    where = f"group {group.name} of {channel.name} on {group.host}"
    n_frames = verdict.n_published[channel.name]
    verdict.expect(len(members) == group.n_members, f"{where}: {len(members)} members have committed")
    for said in members:
        verdict.expect(said["left"] is None, f"{where}: member {said['member']} has left step {said['left']}")
        verdict.expect(said["end"] == "finished", f"{where}: member {said['member']} was told {said['end']}")
    done = [CommittedSteps.from_blob(bytes.fromhex(said["blob"])) for said in members]
    n_missed = [said["missed"] + steps.n_late for said, steps in zip(members, done, strict=True)]
    if group.share:
        results = [(done, sum(n_missed))]
    else:
        results = [([steps], n) for steps, n in zip(done, n_missed, strict=True)]
    for parts, n_counted in results:
        numbers = [number for part in parts for number in part.numbers()]
        verdict.expect(len(set(numbers)) == len(numbers), f"repeated: {where} has steps twice")
        verdict.expect(set(numbers) <= set(range(n_frames)), f"{where} has steps that were not published")
        digests = [_digest(place.channel(channel.name), STEPS_PER_FRAME * n, channel.n_atoms) for n in numbers]
        found = sum_of_digests([part.digests for part in parts])
        verdict.expect(found == sum_of_digests(digests), f"torn: {where} has committed another sum of digests")
        missing = sorted(set(range(n_frames)) - set(numbers))
        if group.is_lossless:
            verdict.expect(not missing, f"lost: {where} lacks frames {missing[:20]} of {n_frames}")
            verdict.expect(n_counted == 0, f"{where} counts {n_counted} missed frames, and had all")
        verdict.expect(
            len(missing) <= n_counted,
            f"lost: {where} lacks {len(missing)} frames and counts {n_counted}: {missing[:20]}",
        )
        verdict.n_missed[channel.name] += n_counted


def _judge_archive(channel: Channel, actor: str, file: str, is_whole: bool, place: Place, verdict: Verdict) -> None:
    """Judge the file of an archive, and what its archiver said of it."""
    n_missed = next(
        (
            line.what["n_missed"]
            for line in lines_of(place.journal(actor))
            if isinstance(line, Event) and line.word == "archived"
        ),
        None,
    )
    if n_missed is None:
        verdict.discrepancies.append(f"{actor} has not said that {file} is complete")
        return
    path, n_frames = place.archive(file), verdict.n_published[channel.name]
    numbers = check_archive(path, place.channel(channel.name), channel.n_atoms, verdict.discrepancies)
    verdict.expect(_grow(numbers), f"repeated: steps of {file} do not grow")
    missing = sorted(set(range(n_frames)) - set(numbers))
    verdict.expect(
        len(missing) <= n_missed, f"lost: {file} lacks frames {missing[:20]} of {n_frames}, and says {n_missed}"
    )
    verdict.expect(not (is_whole and missing), f"lost: {file} lacks frames {missing[:20]} of {n_frames}")


def _committed(place: Place) -> dict[tuple[str, str, str], list[dict[str, Any]]]:
    """Return what the judges of all hosts report, by host, channel and group."""
    found: dict[tuple[str, str, str], list[dict[str, Any]]] = defaultdict(list)
    for host in HOSTS:
        for line in lines_of(place.journal(f"{host}-judge")):
            if isinstance(line, Event) and line.word == "committed":
                found[host, line.what["channel"], line.what["group"]].append(line.what)
    return found


def _lifetimes(lines: Iterable[Taken | Put | Event]) -> Iterator[list[Taken]]:
    """Divide the frames of a journal by the incarnations of its actor."""
    taken: list[Taken] = []
    for line in lines:
        if isinstance(line, Event) and line.word == "joined":
            yield taken
            taken = []
        elif isinstance(line, Taken):
            taken.append(line)
    yield taken


def _grow(numbers: list[int]) -> bool:
    return all(before < after for before, after in pairwise(numbers))


@lru_cache(maxsize=1 << 17)
def _digest(channel: str, step: int, n_atoms: int) -> int:
    return expected_digest(channel, step, n_atoms)
