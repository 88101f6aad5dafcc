"""The fork server of the tests goes on whatever becomes of its launchers."""

import functools
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from forked_python import command
from forked_python.command import fork_server, forked_python
from forked_python.server import OF_DASK, OPTIONS
from mdreel.execution.executors.dask.cluster import local_cluster


@pytest.fixture(scope="module", autouse=True)
def own_server() -> Iterator[None]:
    """Start a server for this module, because earlier tests may have changed what processes inherit."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command, "_start", functools.cache(command._start.__wrapped__))
        yield


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


def test_process_has_ended_when_the_end_of_its_killed_launcher_is_known(tmp_path: Path) -> None:
    code = "import sys\nwhile True: open(sys.argv[1], 'ab', 0).write(b'.')"
    for i in range(20):
        path = tmp_path / str(i)
        with subprocess.Popen([forked_python(), "-c", code, path]) as launcher:
            while not path.exists():
                time.sleep(0.001)
            launcher.kill()
        n_written = path.stat().st_size
        time.sleep(0.02)
        assert path.stat().st_size == n_written


def test_process_and_its_children_are_forked_with_a_group_of_their_own() -> None:
    code = "import os, subprocess, sys\nprint(os.getpgrp() == os.getpid(), 'mdreel' in sys.modules, flush=True)\n"
    words = [forked_python(), "-c", code + f"subprocess.run([sys.executable, '-c', {code!r}], check=True)"]
    assert subprocess.run(words, capture_output=True, text=True, check=True).stdout == "True True\n" * 2


def test_processes_are_forked_after_dask_has_changed_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in OF_DASK:
        monkeypatch.delenv(name, raising=False)
    server = command._start.__wrapped__(sys.executable, "")
    with local_cluster(1):
        pass
    assert {name: os.environ[name] for name in OF_DASK} == OF_DASK
    words = [server.interpreter, "-c", "import sys; print('mdreel' in sys.modules)"]
    assert subprocess.run(words, capture_output=True, text=True, check=True).stdout == "True\n"


@pytest.mark.parametrize("option", OPTIONS)
def test_processes_with_options_of_the_interpreter_are_forked(option: str) -> None:
    code = "import os, sys; print(os.getppid(), sys.dont_write_bytecode)"
    words = [forked_python(), option, "-c", code]
    said = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
    assert said == [str(fork_server(sys.executable).process.pid), str(sys.dont_write_bytecode or option == "-B")]


def test_options_that_variables_make_multiprocessing_pass_on_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PYTHONDONTWRITEBYTECODE", "PYTHONNOUSERSITE"):
        monkeypatch.setenv(name, "1")
    monkeypatch.delenv("PYTHONWARNINGS", raising=False)
    monkeypatch.syspath_prepend(Path(command.__file__).parents[1])
    code = """if True:
        import subprocess
        from forked_python.server import OPTIONS
        assert {"-B", "-s"} <= set(subprocess._args_from_interpreter_flags()) <= set(OPTIONS)
    """
    subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}, check=True
    )


def test_process_with_other_limits_is_not_forked() -> None:
    code = "import resource, sys; print(resource.getrlimit(resource.RLIMIT_NOFILE)[0], 'mdreel' in sys.modules)"
    words = ["prlimit", "--nofile=200:", forked_python(), "-c", code]
    assert subprocess.run(words, capture_output=True, text=True, check=True).stdout == "200 False\n"


@pytest.mark.parametrize("words", [["-W", "error"], ["-Werror"], ["-u", "-W", "error", "-P"]])
def test_filters_of_warnings_are_obeyed(words: list[str]) -> None:
    code = "import sys, warnings; print(sys.warnoptions, 'mdreel' in sys.modules); warnings.warn('so')"
    done = subprocess.run([forked_python(), *words, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "['error'] True\n")
    assert done.stderr.endswith("UserWarning: so\n")


def test_arguments_may_be_longer_than_what_a_socket_takes_at_once() -> None:
    words = [forked_python(), "-c", "import sys; print(sum(map(len, sys.argv[1:])))", *["x" * 100_000] * 10]
    assert subprocess.run(words, capture_output=True, text=True, check=True).stdout == "1000000\n"


def test_launcher_learns_how_a_process_has_ended_that_ended_before_its_beginning_was_known(tmp_path: Path) -> None:
    nobody, status = 1 << 22, 3 << 8
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "server"))
        server.listen()
        with subprocess.Popen([shutil.copy(forked_python(), tmp_path), "-c", ""]) as launcher:
            connection, _ = server.accept()
            with connection:
                connection.sendall(nobody.to_bytes(8, "big") + status.to_bytes(8, "big"))
                assert launcher.wait(60) == 3
