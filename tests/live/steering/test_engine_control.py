"""Tests of engines that are controlled by signals."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from mdreel.errors import FormatError, MdreelError, MismatchError, StreamError, StreamTimeoutError, UnsupportedError
from mdreel.live.steering.engine_control import ActionResult, SignalControl
from mdreel.live.steering.engine_process import engine

ENGINE = """
import pathlib, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGUSR1})
print("ready", flush=True)
number = signal.sigwait({signal.SIGTERM, signal.SIGUSR1})
if sys.argv[1:]:
    pathlib.Path(sys.argv[1]).write_text(signal.Signals(number).name)
sys.exit(1)
"""
DEAF = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True); signal.pause()"

Process = subprocess.Popen[bytes]


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    return tmp_path / "state.cpt"


def started(program: str, *words: str | Path) -> Process:
    process = subprocess.Popen([sys.executable, "-c", program, *map(str, words)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    with process.stdout:
        assert process.stdout.readline() == b"ready\n"
    return process


@pytest.fixture
def process(checkpoint: Path) -> Iterator[Process]:
    one = started(ENGINE, checkpoint)
    yield one
    one.kill()
    one.wait()


def never() -> bool:
    return False


@pytest.mark.parametrize("how", ["process", "number", "file"])
def test_stop_waits_for_the_end_and_the_checkpoint(
    tmp_path: Path, process: Process, checkpoint: Path, how: str
) -> None:
    (tmp_path / "pid").write_text(f"{process.pid}\n")
    named = {"process": process, "number": process.pid, "file": tmp_path / "pid"}[how]
    done = SignalControl(named, checkpoint).stop(never)
    expected = f"process {process.pid} ended after SIGTERM with the checkpoint {checkpoint}"
    assert done == ActionResult(expected, str(checkpoint))
    assert checkpoint.read_text() == "SIGTERM"
    assert process.wait() == 1


def test_other_signal_is_sent_where_that_is_said(process: Process, checkpoint: Path) -> None:
    SignalControl(process, checkpoint, signal.SIGUSR1).stop(never)
    assert checkpoint.read_text() == "SIGUSR1"


def test_checkpoint_of_before_does_not_count(checkpoint: Path) -> None:
    checkpoint.write_text("old")
    os.utime(checkpoint, (time.time() + 3600,) * 2)  # whatever the clock says: it is not written now
    process = started(ENGINE)
    with pytest.raises(StreamError, match="without writing this checkpoint"):
        SignalControl(process, checkpoint).stop(never)
    assert process.wait() == 1


def test_engine_that_does_not_end_is_waited_for_as_long_as_is_said(checkpoint: Path) -> None:
    process = started(DEAF)
    try:
        with pytest.raises(StreamTimeoutError, match=r"did not end within 0\.2 s"):
            SignalControl(process, checkpoint, timeout=0.2).stop(never)
        with pytest.raises(StreamError, match="the wait for its end was cancelled"):
            SignalControl(process, checkpoint).stop(lambda: True)
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()


def test_process_that_has_ended_is_sent_nothing(process: Process) -> None:
    number = process.pid
    process.terminate()
    process.wait()
    with pytest.raises(StreamError, match="has already ended"):
        SignalControl(process).stop(never)
    with pytest.raises(StreamError, match=rf"process {number} does not exist \(any more\)"):
        SignalControl(number).stop(never)


@pytest.mark.parametrize("content", ["", "1", "-4711", "four", "4711 4712", "0"])
def test_file_without_the_number_of_a_process_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "pid").write_text(content)
    with pytest.raises(FormatError, match="expected a process ID"):
        SignalControl(tmp_path / "pid").stop(never)
    with pytest.raises(FileNotFoundError):
        SignalControl(tmp_path / "none").stop(never)


def test_fork_takes_the_last_checkpoint_of_the_engine(checkpoint: Path) -> None:
    with pytest.raises(MismatchError, match="the checkpoint of the engine is unknown"):
        SignalControl(None).last_checkpoint(never)
    with pytest.raises(FileNotFoundError, match="has not written a checkpoint yet"):
        SignalControl(None, checkpoint).last_checkpoint(never)
    checkpoint.touch()
    assert SignalControl(None, checkpoint).last_checkpoint(never).checkpoint == str(checkpoint)


def test_signals_can_do_nothing_else() -> None:
    for ask in (lambda: SignalControl(None).checkpoint(never), lambda: SignalControl(None).change_stride(7, never)):
        with pytest.raises(UnsupportedError, match="controlled by signals"):
            ask()
    with pytest.raises(MismatchError, match="there is no process to stop"):
        SignalControl(None).stop(never)


def test_engine_outlives_a_failure_and_not_a_sigterm(tmp_path: Path) -> None:
    finished = tmp_path / "finished"
    writes = [sys.executable, "-c", f"open({str(finished)!r}, 'w')"]
    with pytest.raises(MdreelError, match="of ours"), engine(writes):
        raise MismatchError("a failure of ours")
    assert finished.exists()
    with pytest.raises(SystemExit), engine([sys.executable, "-c", "import signal; signal.pause()"]) as process:
        raise SystemExit(143)
    assert process.returncode == -signal.SIGTERM
