"""Tests that memory of every analysis grows with the number of frames only as its docstring states."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import memory_probe
from every_analysis import CASES
from peptide_system import write_peptide

pytestmark = [
    pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning"),
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the peak of a process is asked of Linux"),
]
N_FRAMES = 1_000, 13_000
ALLOWED = 5 << 19  # bytes: what an allocator takes at a time, and what is kept of how long all took
MOST_TRIES = 5
Measure = Callable[[str], list[dict[str, int]]]


@pytest.fixture(scope="module")
def measure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Measure]:
    folder = tmp_path_factory.mktemp("memory")
    paths = [folder / f"{n_frames}.xtc" for n_frames in N_FRAMES]
    for path, n_frames in zip(paths, N_FRAMES, strict=True):
        write_peptide(path, n_frames)
    command = [sys.executable, memory_probe.__file__, *map(str, paths)]
    folders = os.pathsep.join([str(Path(memory_probe.__file__).parent), *filter(None, sys.path)])
    # One heap: each of several would take addresses for more than it gives out. What is large lies outside of it, and
    # grows in place: in the heap, a block that waits to be merged may stand behind it, and then there are two of it.
    allocator = {"MALLOC_ARENA_MAX": "1", "MALLOC_MMAP_THRESHOLD_": str(1 << 17)}
    # A thread takes the stack of one that has ended, or a new one if that is a moment late: it is to be a small one.
    stacks = {"RUST_MIN_STACK": str(1 << 18)}
    environment = {**os.environ, "PYTHONPATH": folders, "XDG_CACHE_HOME": str(folder), **allocator, **stacks}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment) as probe:
        asked, said = probe.stdin, probe.stdout
        assert asked is not None
        assert said is not None

        def ask(name: str) -> list[dict[str, int]]:
            print(name, file=asked, flush=True)
            answers: list[dict[str, int]] = json.loads(said.readline())
            assert not any("failed" in answer for answer in answers), answers
            return answers

        yield ask
        asked.close()


def smallest_growth(peaks: list[tuple[int, int]]) -> int:
    """Return by how much the smallest peak of many frames exceeds the smallest peak of few frames."""
    few, many = zip(*peaks, strict=True)
    return min(many) - min(few)


@pytest.mark.parametrize("name", CASES)
def test_memory_grows_as_the_results_do(name: str, measure: Measure) -> None:
    case = CASES[name]
    few, many = measure(name)
    more = {what: many[what] - few[what] for what in few}
    of_frame, of_atom = case.beside
    stated = case.copies * more["bytes"] + more["frames"] * (of_frame + of_atom * many["atoms"])
    # A thread that starts before the one before it has ended takes a stack of its own, and a block may wait to be
    # merged. Both only add to a peak, so the smallest of several peaks has the least of them. Growth is in all of them.
    peaks = [(few["peak"], many["peak"])]
    while (growth := smallest_growth(peaks)) > stated + ALLOWED and len(peaks) < MOST_TRIES:
        few, many = measure(name)
        peaks.append((few["peak"], many["peak"]))
    assert growth <= stated + ALLOWED, f"{growth:,} bytes more, stated are {stated:,}; peaks: {peaks}"


def test_memory_that_grows_is_seen(measure: Measure) -> None:
    tries = [measure("DistanceArray") for _ in range(MOST_TRIES)]  # keeps all distances
    few, many = tries[0]
    kept = many["bytes"] - few["bytes"]
    assert smallest_growth([(few["peak"], many["peak"]) for few, many in tries]) > 0.8 * kept > 2 * ALLOWED
