"""``mdreel managed``: programs that know nothing of mdreel, in managed directories."""

import json
import signal
import subprocess
from pathlib import Path

from forked_python.command import forked_python
from mdreel.live.managed.reader import ManagedDirectory
from mdreel.live.managed.writer import ManagedProducer

LONG = 60.0  # what is waited for comes at once, but a test must not fail because a machine is busy


def test_one_program_reads_what_another_one_writes(run, tmp_path):
    read = [forked_python(), "-m", "mdreel.cli", "managed", "run", "frames", "--read", "--timeout", "60", "--"]
    with subprocess.Popen([*read, "cat", "frames/1"], cwd=tmp_path, stdout=subprocess.PIPE, text=True) as reader:
        done = run("managed", "run", "frames", "--", "sh", "-c", "echo one > frames/1; echo two > frames/2")
        assert (done.returncode, done.stderr) == (0, "")
        assert reader.communicate(timeout=LONG)[0] == "one\n"
        assert reader.returncode == 0
    listed = run("managed", "list", "frames")
    assert (listed.returncode, listed.stdout) == (0, "1\n2\n")
    assert listed.stderr == f"{tmp_path / 'frames'}: 2 files, finished\n"
    late = run("managed", "run", "frames", "--read", "--", "cat", "frames/3")
    assert late.returncode == 1
    assert "frames/3: it was not published, and its producer is finished" in late.stderr


def test_end_of_the_program_is_that_of_the_directory_and_of_the_command(run, tmp_path):
    assert run("managed", "run", "frames", "--", "sh", "-c", "exit 3").returncode == 3
    seen = json.loads(run("managed", "list", "frames", "--json").stdout)
    assert seen == {"path": str(tmp_path / "frames"), "state": "failed", "reason": "sh: exit status 3", "files": []}
    assert run("managed", "run", "frames", "--", "sh", "-c", "kill -9 $$").returncode == 128 + 9
    assert run("managed", "list", "frames").stderr.endswith("0 files, failed: sh: signal 9\n")


def test_program_ends_with_the_command(tmp_path):
    command = [forked_python(), "-m", "mdreel.cli", "managed", "run", "frames", "--", "sh", "-c", "echo $$; exec cat"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, cwd=tmp_path, text=True, **pipes) as process:
        number = int(process.stdout.readline())
        process.send_signal(signal.SIGTERM)
        assert process.wait(LONG) == 143
        # It was waited for, so that there is no such process any more.
        assert not Path(f"/proc/{number}").exists()
    assert ManagedDirectory(tmp_path / "frames").state == "stopped"


def test_what_makes_no_sense_is_refused(run, tmp_path):
    assert run("managed", "run", "frames", "--read", "--shared", "--", "true").returncode == 2
    assert run("managed", "run", "frames").returncode == 2
    missing = run("managed", "list", "nowhere")
    assert missing.returncode == 3
    assert "nowhere" in missing.stderr
    assert run("managed", "run", "frames", "--", "./nothing").returncode == 3
    with ManagedProducer(tmp_path / "frames"):
        refused = run("managed", "run", "frames", "--", "true")
        assert refused.returncode == 3
        assert "another producer is running" in refused.stderr
    shown = run("managed", "run", "--help").stdout
    assert "DIRECTORY -- COMMAND..." in shown
