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


def forked_python(python: str | None = None, hash_seed: str = "") -> str:
    """Return the path of the stand-in for an interpreter, by default this one; the first call starts its server.

    Its processes need the variable `PYTHONHASHSEED` to be `hash_seed`, where that is given.
    """
    return str(fork_server(python or sys.executable, hash_seed).interpreter)


def fork_server(python: str, hash_seed: str = "") -> ForkServer:
    """Return the server of an interpreter, started by the first call; it ends with this process."""
    return _start(python, hash_seed)


@functools.cache
def _start(python: str, hash_seed: str) -> ForkServer:
    folder = Path(tempfile.mkdtemp(prefix="forked-python-"))
    programs = folder / "bin"
    programs.mkdir()
    server = subprocess.Popen(
        [python, str(_HERE / "server.py"), str(programs / "server")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, **_ONE_THREAD, **({"PYTHONHASHSEED": hash_seed} if hash_seed else {})},
    )
    atexit.register(_end, server, folder)
    interpreter = programs / "python"
    interpreter.write_text(f"#!{python} -IS\n{(_HERE / 'launcher.py').read_text()}")
    interpreter.chmod(0o755)
    for beside in (Path(python).parent, Path(python).parent.parent):  # programs are looked for beside the interpreter
        for path in beside.iterdir():
            if not (place := folder / path.relative_to(Path(python).parent.parent)).exists():
                place.symlink_to(path)
    assert server.stdout is not None
    assert server.stdout.readline(), "the server of forked processes did not start"
    return ForkServer(server, interpreter)


def _end(server: "subprocess.Popen[bytes]", folder: Path) -> None:
    server.communicate()
    shutil.rmtree(folder, ignore_errors=True)
