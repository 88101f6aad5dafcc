"""Where the numbers come from: no number without commit, machine, versions and cache state."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

from contender import REPOSITORY, RUST

PACKAGES = ("mdreel", "MDAnalysis", "mdtraj", "freud-analysis", "dask", "numpy", "MDAnalysisTests")
CRATES = ("molly", "xdrfile")


def describe() -> dict[str, Any]:
    """Return commit, machine and versions.

    Returns
    -------
    dict
        ``commit`` (with ``-dirty`` when files differ from it), ``cpu``, ``cores`` (that may be used), ``memory_gib``,
        ``kernel``, ``python``, ``versions``, ``load`` (average of the last minute when the run started) and ``cache``.
    """
    return {
        "commit": commit(),
        "cpu": _first(Path("/proc/cpuinfo"), r"model name\s*:\s*(.+)") or platform.processor(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "rustc": _output("rustc", "--version"),
        "versions": versions(),
        "load": round(os.getloadavg()[0], 2),
        "cache": "warm: each file was read once, in order, and then held in memory",
    }


def commit() -> str:
    """Return the commit that is measured, with ``-dirty`` when files other than the results differ from it."""
    git = ("git", "-C", str(REPOSITORY))
    name = _output(*git, "rev-parse", "--short=12", "HEAD")
    changed = _output(*git, "status", "--porcelain", "--", ".", ":!lab/benchmarks/results", ":!README.md")
    return (name or "unknown") + ("-dirty" if changed else "")


def versions() -> dict[str, str]:
    """Return the versions of mdreel and its peers, of those that are installed."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    lock = (RUST / "Cargo.lock").read_text()
    for name in CRATES:
        if match := re.search(rf'name = "{name}"\nversion = "([^"]+)"', lock):
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


def _first(path: Path, pattern: str) -> str | None:
    match = re.search(pattern, path.read_text()) if path.exists() else None
    return match[1] if match else None
