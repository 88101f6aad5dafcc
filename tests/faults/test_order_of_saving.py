"""What a power failure leaves: a file gets its name when it is on the disk, and its checkpoint goes after that."""

import json
import sys
from pathlib import Path

import pytest
from MDAnalysisTests.datafiles import DCD, PSF

from mdreel.results.figure import EXTENSIONS
from mdreel.timing.files import WRITERS as RECORDS
from mdreel.trajectory.output_file import formats
from table_writers import INSTALLED
from watched_calls import Call, name_given, removed, watched, watcher

EVERY_WRITER = Path(__file__).parents[1] / "every_writer.py"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return watcher(tmp_path_factory.mktemp("watching"))


@pytest.fixture(scope="module")
def written(library: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Call], Path, list[str]]:
    """All calls of a program that writes a file with each writer, its folder, and the files in it."""
    place = tmp_path_factory.mktemp("written")
    folder = place / "files"
    calls = watched(library, [sys.executable, EVERY_WRITER, folder], place / "log")
    return calls, folder, sorted(path.name for path in folder.iterdir())


def mdreel(*words: str | Path) -> list[str | Path]:
    return [sys.executable, "-c", "import sys; from mdreel.cli.main import main; sys.exit(main())", *words]


def test_every_writer_syncs_its_file_and_its_directory_before_the_name_is_trusted(
    written: tuple[list[Call], Path, list[str]],
) -> None:
    calls, folder, names = written
    expected = {f"table{ending}" for ending in INSTALLED} | {f"figure{ending}" for ending in EXTENSIONS}
    expected |= {f"record{ending}" for ending in RECORDS} | {"report.html", "repacked.h5md", "simulation.checkpoint"}
    endings = [known.ending for known in formats()]
    expected |= {
        f"{how}{ending}" for how in ("converted", "joined", "archive", "split-1", "split-2") for ending in endings
    }
    assert set(names) == expected | {"run.checkpoint"}
    for name in sorted(expected):
        name_given(calls, folder / name)


def test_checkpoint_is_synced_with_its_directory_when_it_is_begun(written: tuple[list[Call], Path, list[str]]) -> None:
    calls, folder, _ = written
    name_given(calls, folder / "run.checkpoint")


def test_published_file_is_synced_when_it_is_to_survive_the_machine(
    written: tuple[list[Call], Path, list[str]],
) -> None:
    calls, folder, _ = written
    name_given(calls, folder.parent / "managed" / "frame")


@pytest.mark.parametrize("log", ["replica.jsonl", "steering.jsonl"])
def test_line_of_a_log_is_synced_when_it_was_written(written: tuple[list[Call], Path, list[str]], log: str) -> None:
    calls, folder, _ = written
    of_log = [call.what for call in calls if call.path == folder.parent / log]
    assert of_log == ["write", "sync"]


def test_checkpoint_is_removed_when_all_outputs_are_on_the_disk(library: Path, tmp_path: Path) -> None:
    outputs = [tmp_path / name for name in ("rmsd.csv", "rmsd.png", "spans.jsonl", "page.html")]
    table, plot, timing, report = outputs
    checkpoint = tmp_path / "kept"
    words = [
        "rmsd",
        "-s",
        PSF,
        "-f",
        DCD,
        "--select",
        "name CA",
        "-o",
        table,
        "--plot",
        plot,
        "--timing",
        timing,
        "--report",
        report,
    ]
    calls = watched(library, mdreel(*words, "--checkpoint", checkpoint), tmp_path / "log")
    gone = removed(calls, checkpoint)
    assert name_given(calls, checkpoint) < gone
    for path in outputs:
        assert name_given(calls, path) < gone, path.name


def test_original_is_removed_when_its_copy_in_a_managed_directory_is_on_the_disk(library: Path, tmp_path: Path) -> None:
    source = Path("/dev/shm") / f"{tmp_path.name}-original"
    if source.parent.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("there is no second file system at /dev/shm")
    source.write_bytes(b"frame")
    code = (
        "import sys, mdreel\n"
        "with mdreel.live.ManagedProducer(sys.argv[1]) as frames: frames.publish(sys.argv[2], 'frame')"
    )
    try:
        calls = watched(library, [sys.executable, "-c", code, tmp_path / "frames", source], tmp_path / "log")
        assert name_given(calls, tmp_path / "frames" / "frame") < removed(calls, source)
    finally:
        source.unlink(missing_ok=True)


def test_writers_say_what_they_wrote(written: tuple[list[Call], Path, list[str]]) -> None:
    """The program that writes everything is of use only if nothing of it is left half done."""
    _, folder, names = written
    assert not [name for name in names if name.startswith(".")], json.dumps(names)
    assert all((folder / name).stat().st_size for name in names)
