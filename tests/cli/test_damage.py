"""Damaged files on the command line: exit codes, and lines for people and for programs."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from damaged_files import write_sound

XYZ_ATOM = "C 0 0 0\n"


@pytest.fixture
def damaged(tmp_path: Path) -> Path:
    sound = write_sound(tmp_path, "xtc")
    return sound.with_bytes(sound.ranges[4][0], bytes(40))


@pytest.fixture
def topology(tmp_path: Path) -> Path:
    path = tmp_path / "atoms.xyz"
    path.write_text(f"21\n\n{XYZ_ATOM * 21}")
    return path


def test_check_exits_with_1_and_names_the_frame_and_its_byte(run: Callable, damaged: Path) -> None:
    done = run("check", "-f", damaged)
    assert done.returncode == 1
    head, line = done.stdout.splitlines()
    assert head == f"{damaged}: 1 defect (XTC, 8 whole frames of 21 atoms)"
    assert line.startswith("  damaged frame: frame 4, byte ")
    assert done.stderr == ""


def test_check_exits_with_0_when_all_files_are_sound(run: Callable, damaged: Path, topology: Path) -> None:
    sound = damaged.with_name("sound.xtc")
    done = run("check", "-f", sound, "-s", topology)
    assert (done.returncode, done.stdout) == (0, f"{sound}: sound (XTC, 9 whole frames of 21 atoms)\n")
    assert run("check", "-f", sound, "-f", damaged).returncode == 1


def test_check_gives_json_for_programs(run: Callable, damaged: Path) -> None:
    done = run("check", "-f", damaged, "--json")
    assert done.returncode == 1
    [report] = json.loads(done.stdout)
    assert (report["is_sound"], report["n_frames"], report["notes"]) == (False, 8, [])
    [defect] = report["defects"]
    assert (defect["kind"], defect["frame"]) == ("damaged frame", 4)
    assert isinstance(defect["byte"], int)


def test_check_of_a_missing_file_is_no_defect(run: Callable) -> None:
    done = run("check", "-f", "missing.xtc")
    assert done.returncode == 3
    assert done.stderr == "mdreel: error: missing.xtc: No such file or directory\n"


def test_rmsd_says_what_it_left_out_and_keeps_it_with_the_table(run: Callable, damaged: Path, topology: Path) -> None:
    common = ("rmsd", "-s", topology, "-f", damaged, "--select", "all", "-q", "-o", "rmsd.json")
    failed = run(*common)
    assert (failed.returncode, "frame 4" in failed.stderr) == (3, True)
    done = run(*common, "--on-error", "skip")
    assert done.returncode == 0
    head, line = done.stderr.splitlines()
    assert head == "mdreel: warning: 1 damaged, left out:"
    assert line.startswith(f"mdreel: warning: {damaged}, frame 4, byte ")
    table = json.loads((topology.parent / "rmsd.json").read_text())
    assert table["columns"]["frame"] == [0, 1, 2, 3, 5, 6, 7, 8]
    assert (table["metadata"]["on_error"], table["metadata"]["n_damaged"]) == ("skip", 1)
    assert "frame 4" in table["metadata"]["damage"]


@pytest.mark.parametrize(("on_error", "n_frames"), [("stop", 4), ("skip", 8)])
def test_convert_and_concat_write_what_is_whole(run: Callable, damaged: Path, on_error: str, n_frames: int) -> None:
    done = run("convert", "-f", damaged, "-o", "out.trr", "--on-error", on_error)
    assert done.returncode == 0
    assert f"out.trr: {n_frames} frames of 21 atoms" in done.stderr
    done = run("concat", damaged, damaged, "-o", "two.trr", "--on-error", on_error)
    assert done.returncode == 0
    assert f"two.trr: {n_frames if on_error == 'stop' else 2 * n_frames} frames of 21 atoms" in done.stderr
    done = run("convert", "-f", damaged, "-o", "window.trr", "--on-error", on_error, "-b", "2", "-e", "5")
    assert "frame 4" in done.stderr
    assert f"window.trr: {2 if on_error == 'stop' else 3} frames" in done.stderr
