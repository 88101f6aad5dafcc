"""Tests of atomic file writing."""

import errno
import signal
import stat
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import numpy as np
import pytest

from full_disk import full_disk
from mdreel.foundation.atomic_files import check_target, replacing
from mdreel.results.figure import EXTENSIONS, save, time_series
from mdreel.results.files import write
from privilege import without_privilege
from table_writers import ENDINGS


def test_replacing_shows_nothing_before_the_end(tmp_path):
    path = tmp_path / "out.csv"
    with replacing(path) as temporary:
        temporary.write_text("done")
        assert temporary.parent == tmp_path
        assert not path.exists()
    assert [(entry.name, entry.read_text()) for entry in tmp_path.iterdir()] == [("out.csv", "done")]


def fail_in_the_middle(path, failure):
    with replacing(path, force=True) as temporary:
        temporary.write_text("half")
        raise failure


@pytest.mark.parametrize("failure", [KeyboardInterrupt, SystemExit, ValueError, OSError(errno.ENOSPC, "full")])
def test_replacing_leaves_nothing_when_the_writer_fails(tmp_path, failure):
    with pytest.raises(failure if isinstance(failure, type) else OSError):
        fail_in_the_middle(tmp_path / "out.csv", failure)
    assert list(tmp_path.iterdir()) == []


def test_replacing_keeps_the_old_file_when_the_writer_fails(tmp_path):
    path = tmp_path / "out.csv"
    path.write_text("old")
    with pytest.raises(ValueError, match="enough"):
        fail_in_the_middle(path, ValueError("enough"))
    assert [(entry.name, entry.read_text()) for entry in tmp_path.iterdir()] == [("out.csv", "old")]


def test_replacing_names_the_final_file_when_the_system_refuses(tmp_path):
    path = tmp_path / "out.csv"
    with pytest.raises(OSError, match="No space") as caught, replacing(path):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert (caught.value.errno, caught.value.filename) == (errno.ENOSPC, str(path))


def test_replacing_refuses_an_existing_file(tmp_path):
    path = tmp_path / "out.csv"
    path.write_text("old")
    with pytest.raises(FileExistsError, match=r"out\.csv"), replacing(path):
        pytest.fail("must not begin")
    assert path.read_text() == "old"


def test_replacing_refuses_a_file_that_came_into_being_meanwhile(tmp_path):
    path = tmp_path / "out.csv"
    with pytest.raises(FileExistsError), replacing(path):
        path.write_text("another's")
    assert [(entry.name, entry.read_text()) for entry in tmp_path.iterdir()] == [("out.csv", "another's")]


def test_replacing_keeps_permissions_when_forced(tmp_path):
    path = tmp_path / "out.csv"
    path.write_text("old")
    path.chmod(0o600)
    with replacing(path, force=True) as temporary:
        temporary.write_text("new")
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_replacing_writes_through_a_symbolic_link(tmp_path):
    (tmp_path / "data").mkdir()
    target, link = tmp_path / "data" / "real.csv", tmp_path / "link.csv"
    target.write_text("old")
    link.symlink_to(target)
    with replacing(link, force=True) as temporary:
        temporary.write_text("new")
    assert link.is_symlink()
    assert target.read_text() == "new"


def test_replacing_works_with_the_longest_name(tmp_path):
    path = tmp_path / ("x" * 251 + ".csv")
    with replacing(path) as temporary:
        temporary.write_text("done")
    assert path.read_text() == "done"


def test_check_target_refuses_a_missing_directory(tmp_path):
    with pytest.raises(FileNotFoundError, match="missing"):
        check_target(tmp_path / "missing" / "out.csv")


def test_check_target_refuses_a_directory(tmp_path):
    with pytest.raises(IsADirectoryError):
        check_target(tmp_path, force=True)


def test_check_target_refuses_a_file_as_directory(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError):
        check_target(tmp_path / "file" / "out.csv")


def test_check_target_refuses_a_directory_without_permission():
    with tempfile.TemporaryDirectory() as directory:
        Path(directory).chmod(0o555)
        with without_privilege(), pytest.raises(PermissionError) as caught:
            check_target(Path(directory, "out.csv"))
        assert caught.value.filename == directory


@pytest.mark.parametrize("ending", ENDINGS)
def test_write_leaves_nothing_when_the_disk_is_full(tmp_path, columns, metadata, ending):
    path = tmp_path / f"rmsd{ending}"
    with full_disk(tmp_path):
        with pytest.raises(OSError, match=ending) as caught:
            write(path, columns, metadata)
        assert caught.value.errno in (errno.ENOSPC, errno.EFBIG)
        assert caught.value.filename == str(path)
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ending", EXTENSIONS)
def test_save_leaves_nothing_when_the_disk_is_full(tmp_path, ending):
    figure = time_series(np.arange(3_000.0), np.random.default_rng(1).normal(size=3_000), "RMSD (Å)")
    path = tmp_path / f"rmsd{ending}"
    with full_disk(tmp_path):
        with pytest.raises(OSError, match=ending) as caught:
            save(figure, path)
        assert caught.value.filename == str(path)
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_writing_leaves_nothing_when_the_process_is_terminated(tmp_path, number):
    program = """
        import sys, time
        from pathlib import Path
        from mdreel.cli.main import _set_up_process
        from mdreel.foundation.atomic_files import replacing
        _set_up_process()
        with replacing(Path(sys.argv[1])) as temporary:
            temporary.write_text("half")
            print("writing", flush=True)
            while True:
                time.sleep(0.02)  # not pause(): a signal may come just before it
    """
    command = [sys.executable, "-c", textwrap.dedent(program), str(tmp_path / "out.csv")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "writing\n"
        process.send_signal(number)
        process.wait()
    assert process.returncode != 0
    assert list(tmp_path.iterdir()) == []
