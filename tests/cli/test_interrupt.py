"""Ctrl-C, and what a scheduler sends: in the middle of a real run."""

import os
import pty
import select
import signal
import subprocess
import time
from pathlib import Path

import pytest
from MDAnalysisTests.datafiles import GRO, XTC

from forked_python.command import forked_python

LONGEST_SECONDS = 5.0  # to the end of the process; 0.2 s are meant, but a test must not fail because a machine is busy


@pytest.fixture(params=["dcd", "xtc"])
def long_run(
    request: pytest.FixtureRequest, adk: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> list[str]:
    """Arguments for a run of many seconds, from small files that are read again and again."""
    folder = tmp_path_factory.mktemp("long")
    if request.param == "dcd":
        path, whole = folder / "adk.dcd", Path(adk["dcd"]).read_bytes()
        frames = whole[-98 * 3 * (4 + 4 * 3341 + 4) :]
        path.write_bytes(whole[: -len(frames)] + 20 * frames)  # the size says how many frames there are
        return ["-s", str(adk["psf"]), *(["-f", str(path)] * 500), "-nt", "1"]
    path = folder / "water.xtc"
    path.write_bytes(Path(XTC).read_bytes() * 10)  # XTC files may be joined like this
    return ["-s", GRO, *(["-f", str(path)] * 400), "-nt", "2", "--select", "all"]


@pytest.mark.parametrize("backend", ["threads", "processes"])
@pytest.mark.parametrize(
    ("number", "code", "last_words"), [(signal.SIGINT, 130, b"mdreel: interrupted"), (signal.SIGTERM, 143, b"")]
)
def test_interrupt_ends_soon_and_quietly_and_leaves_nothing(
    long_run: list[str], tmp_path: Path, number: int, code: int, last_words: bytes, backend: str
) -> None:
    command = [forked_python(), "-m", "mdreel.cli", "rmsd", *long_run, "-o", "rmsd.csv", "--plot", "rmsd.png"]
    command += ["--backend", backend]
    controller, terminal = pty.openpty()
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=terminal) as process:
        os.close(terminal)
        shown = b""
        while b"frames/s" not in shown:  # the progress bar says that the run is in its middle
            assert select.select([controller], [], [], 60)[0], shown
            shown += os.read(controller, 4096)
        process.send_signal(number)
        sent = time.monotonic()
        while True:  # until the other end closes
            try:
                shown += os.read(controller, 4096)
            except OSError:
                break
        process.wait()
        seconds = time.monotonic() - sent
    os.close(controller)
    assert process.returncode == code, shown
    assert seconds < LONGEST_SECONDS
    assert shown.rstrip().endswith(last_words)
    assert b"Traceback" not in shown
    assert (b"with --checkpoint FILE, a run can continue" in shown) == (number == signal.SIGINT)
    assert list(tmp_path.iterdir()) == []
    print(f"{seconds:.3f} s after the signal")


def test_interrupted_run_says_how_to_continue(long_run: list[str], tmp_path: Path) -> None:
    checkpoint = tmp_path / "rmsd.checkpoint"
    command = [forked_python(), "-m", "mdreel.cli", "rmsd", *long_run, "-o", "rmsd.csv", "--n-parts", "400"]
    for beginning in ("", f"{checkpoint}: the file exists; if it belongs to this run"):
        n_bytes = checkpoint.stat().st_size if checkpoint.exists() else 0
        words = [*command, "--checkpoint", str(checkpoint)]
        with subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
            while not checkpoint.exists() or checkpoint.stat().st_size <= n_bytes:
                assert process.poll() is None
                time.sleep(0.01)
            process.send_signal(signal.SIGINT)
            _, said = process.communicate(timeout=60)
        assert process.returncode == 130, said
        assert said.startswith(beginning)
        message = f"{checkpoint}: the finished blocks are in this file; run the same command again to continue"
        assert said.split("\n")[-4:] == [message, "", "mdreel: interrupted", ""]  # Click ends the line of the progress
