"""``mdreel rmsd --follow``: the command on a file that grows."""

import os
import pty
import select
import signal
import subprocess
import time

import pytest

from forked_python.command import forked_python

LONGEST_SECONDS = 5.0  # to the end of the process; 0.05 s are meant, but a test must not fail because a machine is busy


@pytest.mark.parametrize("kind", ["dcd", "xtc"])
def test_follow_gives_the_table_of_the_whole_file(run, adk, tmp_path, kind):
    end = tmp_path / "done"
    end.touch()
    common = ["rmsd", "-s", adk["psf"], "-f", adk[kind], "--quiet"]
    assert run(*common, "--follow", "--end-file", end, "-o", "followed.csv").returncode == 0
    assert run(*common, "-o", "whole.csv").returncode == 0
    assert (tmp_path / "followed.csv").read_bytes() == (tmp_path / "whole.csv").read_bytes()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--follow"], "--follow needs an end"),
        (["--end-idle", "1"], "require --follow"),
        (["--follow", "--end-idle", "1", "-b", "10"], "-b requires a complete trajectory"),
        (["--follow", "--end-idle", "1", "--n-parts", "3"], "--n-parts requires a complete trajectory"),
        (["--follow", "--end-idle", "1", "-f", "other.xtc"], "accepts one trajectory, not 2"),
    ],
)
def test_follow_refuses_options_that_do_not_go_together(run, adk, options, words):
    done = run("rmsd", "-s", adk["psf"], "-f", adk["xtc"], *options)
    assert done.returncode == 2
    assert words in done.stderr


def test_follow_says_that_the_file_never_came(run, adk, tmp_path):
    done = run("rmsd", "-s", adk["psf"], "-f", tmp_path / "none.xtc", "--follow", "--end-idle", "0.05")
    assert done.returncode == 3
    assert "none.xtc: No such file or directory" in done.stderr


def test_interrupt_ends_the_waiting_for_frames(adk, tmp_path):
    options = ["-s", str(adk["psf"]), "-f", str(adk["xtc"]), "--follow", "--end-file", "never", "-o", "rmsd.csv"]
    controller, terminal = pty.openpty()
    command = [forked_python(), "-m", "mdreel.cli", "rmsd", *options]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=terminal) as process:
        os.close(terminal)
        shown = b""
        while b"98 frames" not in shown:  # all there are: it waits for more
            assert select.select([controller], [], [], 60)[0], shown
            shown += os.read(controller, 4096)
        process.send_signal(signal.SIGINT)
        sent = time.monotonic()
        while True:  # until the other end closes
            try:
                shown += os.read(controller, 4096)
            except OSError:
                break
        process.wait()
        seconds = time.monotonic() - sent
    os.close(controller)
    assert process.returncode == 130, shown
    assert seconds < LONGEST_SECONDS
    assert list(tmp_path.iterdir()) == []
