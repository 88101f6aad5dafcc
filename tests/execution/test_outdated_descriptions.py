"""Runs of chains whose kept descriptions are outdated: they give what a run without a description gives."""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import MDAnalysis as mda
import numpy as np
import pytest
from MDAnalysisTests.datafiles import PSF

import mdreel
from chain_files import garbage, larger, two_processes
from mdreel._core import keep_chain, kept_chain
from mdreel.errors import MdreelError
from mdreel.execution.file_check import confirm_files, with_later_check
from mdreel.trajectory.convert import convert
from mdreel.trajectory.open import open as open_trajectory

SECONDS = 60
"""Deadline for files to become old enough for a description."""


def shortened(path: Path) -> None:
    convert(path, path.with_name("short.xtc"), stop=2)
    path.with_name("short.xtc").replace(path)


def lengthened(path: Path) -> None:
    path.write_bytes(path.read_bytes() + path.with_name("0.xtc").read_bytes())


def with_more_atoms(path: Path) -> None:
    path.unlink()
    larger(path)


def lost(path: Path) -> None:
    path.unlink()


CHANGES = [shortened, lengthened, with_more_atoms, lost, garbage]
RUNS: list[dict[str, Any]] = [{}, {"start": -3}, {"stop": 8}, {"frames": [20, 4]}, {"checkpoint": "saved"}]


@pytest.fixture(scope="module")
def chains(adk_xtc: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[tuple[str, int], list[str]]]:
    """Chains of three files of nine frames for each test, with descriptions."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MDREEL_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        found = {}
        for name in [*(change.__name__ for change in CHANGES), "unchanged"]:
            for i in range(len(RUNS)):
                folder = tmp_path_factory.mktemp("files")
                paths = [folder / f"{number}.xtc" for number in range(3)]
                for number, path in enumerate(paths):
                    convert(adk_xtc, path, start=number, stop=number + 9)
                found[name, i] = [str(path) for path in paths]
        deadline = time.monotonic() + SECONDS
        for some in found.values():
            while not _keep(some):
                assert time.monotonic() < deadline, "the files did not become old enough"
                time.sleep(0.05)
        yield found


def _keep(paths: list[str]) -> bool:
    source = open_trajectory(paths)
    assert source.n_frames == 27
    source.check_end()
    return keep_chain(source, "\0".join(paths), None, "cache", "keep", "[]")


def _found(paths: list[str], options: dict[str, Any]) -> Any:
    """Return what a run finds, or its error."""
    alpha = mda.Universe(PSF, paths[0]).select_atoms("name CA")
    try:
        run = mdreel.RMSD(alpha, trajectory=paths).run(backend="serial", **options)
    except (MdreelError, OSError) as error:
        return f"{type(error).__name__}: {error}"
    return [values.tolist() for values in (run.results.rmsd, run.frames, run.times)]


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The chains that were opened from descriptions, with their checks."""
    found = []

    def noted(*arguments: Any) -> Any:
        found.append(kept_chain(*arguments))
        return found[-1]

    monkeypatch.setattr("mdreel.trajectory.kept_chain.kept_chain", noted)
    return found


@pytest.mark.parametrize("number", range(len(RUNS)), ids=lambda number: str(RUNS[number]))
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_run_of_changed_files_begins_again(
    change: Callable[[Path], None], number: int, chains: dict[tuple[str, int], list[str]], opened: list[Any]
) -> None:
    paths = chains[change.__name__, number]
    change(Path(paths[1]))
    with two_processes():
        found = _found(paths, _in(RUNS[number], paths, "first"))
    first, *others = opened
    assert first is not None, "the run begins with the description"
    assert len(others) == 1, "and then opens all files"
    assert found == _found(paths, _in(RUNS[number], paths, "second"))


@pytest.mark.parametrize("number", range(len(RUNS)), ids=lambda number: str(RUNS[number]))
def test_run_of_unchanged_files_begins_once(
    number: int, chains: dict[tuple[str, int], list[str]], opened: list[Any]
) -> None:
    paths = chains["unchanged", number]
    with two_processes():
        found = _found(paths, _in(RUNS[number], paths, "first"))
    assert [one is not None for one in opened] == [True]
    assert found == _found(paths, _in(RUNS[number], paths, "second"))


def test_error_of_a_run_of_unchanged_files_is_raised_at_once(
    chains: dict[tuple[str, int], list[str]], opened: list[Any]
) -> None:
    paths = chains["unchanged", 0]
    with two_processes():
        assert "FrameIndexError" in _found(paths, {"start": 27})
        other = mda.Universe.empty(12, trajectory=True).atoms
        with pytest.raises(MdreelError, match="atoms"):
            mdreel.RMSD(other, trajectory=paths).run(backend="serial")
    assert [one is not None for one in opened] == [True, True]


def test_run_within_a_run_leaves_the_check_to_the_outer_one(chains: dict[tuple[str, int], list[str]]) -> None:
    (outer, inner), calls = (chains["unchanged", number] for number in (2, 3)), []

    def compute() -> str:
        calls.append(open_trajectory(outer).n_frames)
        assert with_later_check(lambda: open_trajectory(inner).n_frames) == 27
        confirm_files()
        return "confirmed"

    with two_processes():
        assert with_later_check(compute) == "confirmed"
        lengthened(Path(outer[1]))
        assert with_later_check(compute) == "confirmed"
    assert calls == [27, 27, 36]


def test_function_outside_of_a_run_waits_for_the_check(
    chains: dict[tuple[str, int], list[str]], opened: list[Any]
) -> None:
    paths = chains["unchanged", 1]
    with two_processes():
        source = open_trajectory(paths)
        assert len(opened) == 1
        Path(paths[1]).rename(paths[1] + ".away")
        with pytest.raises(FileNotFoundError):
            open_trajectory(paths)
    Path(paths[1] + ".away").rename(paths[1])
    np.testing.assert_array_equal(source.times(), open_trajectory(paths).times())


def test_files_of_another_machine_are_checked_in_advance(
    chains: dict[tuple[str, int], list[str]], opened: list[Any]
) -> None:
    paths = chains["unchanged", 4]
    (description,) = (path for path in _descriptions() if paths[0].encode() in path.read_bytes())
    _move_to_another_machine(description)
    with two_processes():
        source = open_trajectory(paths)
        assert opened[0] is not None
        assert opened[0][1] is None, "nothing is left to check"
        times = [open_trajectory(path).times() for path in paths]
        np.testing.assert_array_equal(source.times(), np.concatenate(times))
        lengthened(Path(paths[1]))
        assert open_trajectory(paths).n_frames == 36
    assert opened[-1] is None


def _descriptions() -> list[Path]:
    return list(Path(os.environ["MDREEL_CACHE_DIR"]).glob("index/*.files.index"))


def _move_to_another_machine(description: Path) -> None:
    """Replace the machine in a description, which then looks as if it had been kept there."""
    content = description.read_bytes()
    here = Path("/proc/sys/kernel/random/boot_id").read_bytes()
    assert content.count(here) == 1
    n_bytes = int.from_bytes(content[8:16], "little")
    content = content.replace(here, here[::-1])
    described = content[40 : 40 + n_bytes]
    description.write_bytes(content[:24] + _checksum(described).to_bytes(8, "little") + content[32:])


def _checksum(content: bytes) -> int:
    """Return the checksum of the core, which treats eight bytes at a time."""
    found, n_words = 0xCBF29CE484222325, len(content) // 8
    words = [int.from_bytes(content[8 * i : 8 * i + 8], "little") for i in range(n_words)]
    for word in [*words, *content[8 * n_words :]]:
        found = (found ^ word) * 0x100000001B3 % 2**64
        found = (found << 29 | found >> 35) % 2**64
    return found


def _in(options: dict[str, Any], paths: list[str], name: str) -> dict[str, Any]:
    """Put a checkpoint beside the files."""
    place = Path(paths[0]).with_name(name)
    return {key: str(place) if key == "checkpoint" else value for key, value in options.items()}
