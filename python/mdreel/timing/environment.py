"""Environment of a run, including versions, machine and file systems."""

import os
import platform
import re
import socket
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from os import PathLike, fspath
from pathlib import Path
from typing import Any, TypeAlias

from mdreel._core import commit
from mdreel.foundation.file_system import Stripes, mount_of, stripes
from mdreel.foundation.urls import is_remote, without_secrets
from mdreel.timing.page_cache import cached_share

JSON: TypeAlias = Any
"""JSON values: None, bool, int, float, str, and lists and dicts of these."""

_PACKAGES = ("numpy", "MDAnalysis", "dask", "distributed", "mpi4py", "h5py", "pyarrow", "obstore")
"""Packages that can be used in a run."""


def environment_of(paths: Sequence[str | PathLike[str]]) -> dict[str, JSON]:
    """Describe the environment of a run. Call this before the run, because reading changes the page cache.

    Parameters
    ----------
    paths : sequence of path
        Files or URLs that the run reads.

    Returns
    -------
    dict
        The environment. Unknown values are None. The keys are:

        * ``mdreel`` (version) and ``commit`` (of the checkout from which mdreel was built, or None),
        * ``python``, and ``versions`` of the packages that this process has loaded, and of the MPI library,
        * ``cpu``, ``n_cores`` (available to this process), ``memory_bytes``, ``kernel`` and ``hostname``,
        * ``date`` (UTC, ISO 8601),
        * ``files``, each with ``path``, ``n_bytes``, ``file_system``, ``mount`` (mount point), ``stripe`` and
          ``cached_share`` (0 to 1).

        On Lustre, ``stripe`` contains ``count`` and ``size``, and for files with several layouts also ``components``.

    Examples
    --------
    >>> from mdreel.timing.environment import environment_of
    >>> from MDAnalysisTests.datafiles import DCD
    >>> environment_of([DCD])["files"][0]["n_bytes"]
    3931724
    """
    return {
        "mdreel": _version("mdreel"),
        "commit": commit(),
        "python": platform.python_version(),
        "versions": versions(),
        "cpu": _cpu(),
        "n_cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "kernel": f"{platform.system()} {platform.release()}",
        "hostname": socket.gethostname(),
        "date": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "files": [_file(fspath(path)) for path in paths],
    }


def versions() -> dict[str, str]:
    """Return the versions of the packages that this process has loaded, and of the MPI library."""
    found = {name: _version(name) for name in _PACKAGES if name in sys.modules}
    known = {name: text for name, text in found.items() if text is not None}
    mpi = sys.modules.get("mpi4py.MPI")
    if mpi is not None and mpi.Is_initialized() and not mpi.Is_finalized():
        known["MPI"] = " ".join(str(mpi.Get_library_version()).strip("\0 \n").splitlines()[0].split())
    return known


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _file(path: str) -> dict[str, JSON]:
    if is_remote(path):
        scheme = path.partition("://")[0].lower()
        nowhere = dict.fromkeys(("mount", "stripe", "cached_share"))
        return {"path": without_secrets(path), "n_bytes": None, "file_system": scheme, **nowhere}
    place = Path(path)
    mount = mount_of(place)
    return {
        "path": str(place.absolute()),
        "n_bytes": place.stat().st_size if place.is_file() else None,
        "file_system": None if mount is None else mount.kind,
        "mount": None if mount is None else str(mount.point),
        "stripe": _stripe(stripes(place)),
        "cached_share": cached_share(place),
    }


def _stripe(components: tuple[Stripes, ...]) -> dict[str, JSON] | None:
    """Return the striping of a file. For several layouts, return the widest, which applies to most of a large file."""
    if not components:
        return None
    widest = max(components, key=lambda one: one.count)
    found: dict[str, JSON] = {"count": widest.count, "size": widest.size}
    if len(components) > 1:
        found["components"] = [{"count": one.count, "size": one.size} for one in components]
    return found


def _cpu() -> str | None:
    """Return the processor name as reported by Linux, or None on other systems and some architectures."""
    try:
        named = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        named = None
    return named[1] if named else platform.processor() or platform.machine() or None
