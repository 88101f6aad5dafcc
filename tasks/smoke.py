"""Install a wheel into fresh environments, without Rust and without a compiler, and run tests with it.

    python3 -m tasks.smoke dist/*.whl python3.11 python3.13

Each environment takes the newest packages from the registry, and only wheels: nothing is compiled. MDAnalysisTests is
the exception: it holds data and has no wheel. The tests are a few files that read every format and run analyses and the
command line.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tasks.environment import ROOT

PACKAGES = ("pytest", "hypothesis", "h5py", "netCDF4")  # that the tests below import besides the extra "demo"
TESTS = (
    "tests/cli/test_rmsd.py",
    "tests/analysis/test_rmsd.py",
    "tests/trajectory/test_read.py",
)
FIRST_COMMAND = ("rmsd", "-s", "adk.psf", "-f", "adk.dcd", "--select", "protein and name CA", "-o", "rmsd.csv")


def smoke(wheel: Path, python: str) -> None:
    """Install the wheel for one Python, time its first plot, and run the tests."""
    with tempfile.TemporaryDirectory(prefix="mdreel-smoke-") as name:
        folder = Path(name)
        variables = _variables(folder)
        began = time.perf_counter()
        _run([python, "-m", "venv", folder / "venv"], variables)
        inside = folder / "venv" / "bin"
        pip: list[str | Path] = [inside / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        pip += ["--no-cache-dir", "--only-binary", ":all:", "--no-binary", "MDAnalysisTests"]
        _run([*pip, f"{wheel.resolve()}[demo]"], variables)
        installed = time.perf_counter()
        find = "from MDAnalysisTests.datafiles import DCD, PSF; print(PSF, DCD, sep='\\n')"
        files = _run([inside / "python", "-W", "ignore", "-c", find], variables).split()
        for source, target in zip(files, ("adk.psf", "adk.dcd"), strict=True):
            shutil.copy(source, folder / target)
        _run([inside / "mdreel", *FIRST_COMMAND, "--plot", "rmsd.png"], variables, folder)
        plotted = time.perf_counter()
        assert (folder / "rmsd.png").stat().st_size > 0
        print(
            f"-- {python}: installed in {installed - began:.1f} s, first plot after {plotted - began:.1f} s", flush=True
        )
        _run([*pip, *PACKAGES], variables)
        test: list[str | Path] = [inside / "python", "-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS]
        print(f"-- {python}: {_run(test, variables, ROOT).splitlines()[-1]}", flush=True)


def _variables(folder: Path) -> dict[str, str]:
    """Return variables with a path on which neither cargo nor a compiler is found."""
    programs = folder / "bin"
    programs.mkdir()
    for name in ("sh", "env", "uname", "ldd", "git"):
        if place := shutil.which(name):
            (programs / name).symlink_to(place)
    kept = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_", "HTTP", "REQUESTS_"))}
    return {
        **kept,
        "PATH": str(programs),
        "HOME": str(folder),
        "LANG": "C.UTF-8",
        "CC": "false",
        "PYTHONNOUSERSITE": "1",
    }


def _run(command: Sequence[str | Path], variables: dict[str, str], folder: Path | None = None) -> str:
    # The first word is looked up on our path, and what it starts on the other.
    program = str(shutil.which(command[0]) or command[0])
    words = [program, *map(str, command[1:])]
    answer = subprocess.run(words, env=variables, cwd=folder, capture_output=True, text=True, check=False)
    if answer.returncode:
        sys.exit(f"{' '.join(words)} ended with exit code {answer.returncode}:\n{answer.stdout}{answer.stderr}")
    return answer.stdout


def main() -> None:
    """Test each wheel with each Python of the command line."""
    wheels = [Path(word) for word in sys.argv[1:] if word.endswith(".whl")]
    for wheel in wheels:
        for python in [word for word in sys.argv[1:] if not word.endswith(".whl")] or [sys.executable]:
            smoke(wheel, python)


if __name__ == "__main__":
    main()
