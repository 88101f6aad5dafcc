"""The fork server of the tests goes on whatever becomes of its launchers."""

import socket
import subprocess
import sys

import pytest

from forked_python.command import fork_server, forked_python


@pytest.mark.parametrize("beginning", [b"", b"\0\0\0", b"\0" * 7 + b"\x09", b"\0" * 7 + b"\x03abc"])
def test_server_goes_on_when_a_launcher_was_killed_before_its_request_was_complete(beginning: bytes) -> None:
    for _ in range(5):
        with socket.socket(socket.AF_UNIX) as launcher:
            launcher.connect(str(fork_server(sys.executable).address))
            if beginning:
                launcher.sendmsg([beginning])
    words = [forked_python(), "-c", "print(6 * 7)"]
    assert subprocess.run(words, capture_output=True, text=True, check=True).stdout == "42\n"
    assert fork_server(sys.executable).process.poll() is None


def test_server_goes_on_when_launchers_are_killed_at_any_time() -> None:
    for i in range(40):
        launcher = subprocess.Popen([forked_python(), "-c", "import time; time.sleep(60)"])
        try:
            launcher.wait(timeout=i * 5e-4)
        except subprocess.TimeoutExpired:
            launcher.kill()
            launcher.wait()
    words = [forked_python(), "-c", "raise SystemExit(3)"]
    assert subprocess.run(words, check=False).returncode == 3
    assert fork_server(sys.executable).process.poll() is None
