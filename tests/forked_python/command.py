"""The command of a Python process that starts without the time of its imports.

    subprocess.run([*forked_python(), "-m", "mdreel.cli", "info"], cwd=folder)

stands for `[sys.executable, "-m", "mdreel.cli", "info"]` and takes a tenth of its time: a server has imported NumPy,
MDAnalysis and mdreel, and forks for each process. The process is a real one, with its own arguments, environment,
working directory, streams, signals and exit; only its id is not that of the `Popen`. Tests that are about imports,
memory, the id of a process or the start of the interpreter use `sys.executable`.
"""

import atexit
import functools
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

_HERE = Path(__file__).parent


@functools.cache
def forked_python() -> tuple[str, ...]:
    """Return the command; the first call starts the server, which ends with this process."""
    folder = Path(tempfile.mkdtemp(prefix="forked-python-"))
    address = str(folder / "server")
    server = subprocess.Popen(
        [sys.executable, str(_HERE / "server.py"), address], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    atexit.register(_end, server, folder)
    assert server.stdout is not None
    assert server.stdout.readline(), "the server of forked processes did not start"
    return (sys.executable, "-IS", str(_HERE / "launcher.py"), address)


def _end(server: "subprocess.Popen[bytes]", folder: Path) -> None:
    server.communicate()
    shutil.rmtree(folder, ignore_errors=True)
