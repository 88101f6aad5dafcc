"""The environment of measurements: commit, machine, load, and the versions of mdreel and its peers."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterable
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from mdreel.timing.environment import environment_of

REPOSITORY = Path(__file__).resolve().parents[3]
"""The checkout, from which the benchmarks against peers run."""

BENCHMARKS = REPOSITORY / "lab" / "benchmarks"
RUST = BENCHMARKS / "rust"
"""The crate of Rust peers and floors."""

_PACKAGES = (
    "mdreel",
    "MDAnalysis",
    "mdtraj",
    "freud-analysis",
    "scikit-learn",
    "kmedoids",
    "dask",
    "numpy",
    "MDAnalysisTests",
)
_CRATES = ("molly", "xdrfile")


def environment_with_peers(packages: Iterable[str] = _PACKAGES) -> dict[str, Any]:
    """Describe the machine, with ``load`` (of the last minute), ``rustc``, and the versions of installed packages.

    ``commit`` ends with ``-dirty`` where files other than results differ from it.
    """
    return {
        **environment_of([]),
        "commit": _commit(),
        "rustc": _output("rustc", "--version"),
        "versions": {**versions_of(packages), **_programs()},
        "load": round(os.getloadavg()[0], 2),
        "cache": "warm: each file was read once, in order, and then held in memory",
    }


def versions_of(packages: Iterable[str]) -> dict[str, str]:
    """Return the versions of those packages that are installed."""
    found = {}
    for name in packages:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def _commit() -> str:
    git = ("git", "-C", str(REPOSITORY))
    name = _output(*git, "rev-parse", "--short=12", "HEAD")
    written = (":!lab/benchmarks/results", ":!README.md", ":!docs/figures/speed.svg")
    changed = _output(*git, "status", "--porcelain", "--", ".", *written)
    return (name or "unknown") + ("-dirty" if changed else "")


def _programs() -> dict[str, str]:
    """Return the versions of Rust crates and programs."""
    lock, found = RUST / "Cargo.lock", {}
    for name in _CRATES:
        text = lock.read_text(encoding="utf-8") if lock.exists() else ""
        if match := re.search(rf'name = "{name}"\nversion = "([^"]+)"', text):
            found[name] = match[1]
    if shutil.which("gmx") and (match := re.search(r"GROMACS version:\s*(\S+)", _output("gmx", "--version"))):
        found["GROMACS"] = match[1]
    if shutil.which("cpptraj"):
        found["cpptraj"] = _output("cpptraj", "--version")
    return found


def _output(*command: str) -> str:
    try:
        return subprocess.run(command, check=False, capture_output=True, text=True).stdout.strip()
    except FileNotFoundError:
        return ""
