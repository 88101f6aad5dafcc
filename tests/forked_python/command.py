"""An interpreter whose processes start without the time of their imports.

    subprocess.run([forked_python(), "-m", "mdreel.cli", "info"], cwd=folder)

stands for `[sys.executable, "-m", "mdreel.cli", "info"]` and takes a tenth of its time: a server has imported NumPy,
MDAnalysis and mdreel, and forks for each process. The process is a real one, with its own arguments, environment,
working directory, files, signals and exit; only its id is not that of the `Popen`, and NumPy's global generator of
random numbers begins in the same state. Tests that are about imports, memory, the id of a process, or the start and
the end of the interpreter use `sys.executable`.
"""

import atexit
import functools
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

_HERE = Path(__file__).parent
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


@dataclass(frozen=True)
class ForkServer:
    """The server and the interpreter whose processes it forks."""

    process: "subprocess.Popen[bytes]"
    interpreter: Path

    @property
    def address(self) -> Path:
        """Path of the socket."""
        return self.interpreter.with_name("server")


def forked_python(python: str | None = None) -> str:
    """Return the path of the stand-in for an interpreter, by default this one; the first call starts its server."""
    return str(fork_server(python or sys.executable).interpreter)


@functools.cache
def fork_server(python: str) -> ForkServer:
    """Start the server of an interpreter; it ends with this process."""
    folder = Path(tempfile.mkdtemp(prefix="forked-python-"))
    server = subprocess.Popen(
        [python, str(_HERE / "server.py"), str(folder / "server")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, **_ONE_THREAD},
    )
    atexit.register(_end, server, folder)
    interpreter = folder / "python"
    interpreter.write_text(f"#!{python} -IS\n{(_HERE / 'launcher.py').read_text()}")
    interpreter.chmod(0o755)
    assert server.stdout is not None
    assert server.stdout.readline(), "the server of forked processes did not start"
    return ForkServer(server, interpreter)


def _end(server: "subprocess.Popen[bytes]", folder: Path) -> None:
    server.communicate()
    shutil.rmtree(folder, ignore_errors=True)
