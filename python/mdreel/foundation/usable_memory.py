"""Memory that is available to this process."""

import os
import re
from pathlib import Path

_INFORMATION = Path("/proc/meminfo")
_GROUP_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
"""Files that contain the memory limit of a container, for both versions of control groups."""


def usable_memory() -> int:
    """Return the memory that is currently available to this process, in bytes.

    Returns
    -------
    int
        The free memory of the machine, including the page cache and swap space. If the limit of the container or the
        process is smaller, this limit is returned instead. If the operating system does not report the free memory, the
        total memory of the machine is used.
    """
    return min(_free_on_machine(), *_limits())


def _free_on_machine() -> int:
    try:
        text = _INFORMATION.read_text(encoding="ascii")
    except OSError:  # not Linux
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    sizes = {name: int(size) for name, size in re.findall(r"^(\w+):\s+(\d+) kB$", text, re.MULTILINE)}
    return 1024 * (sizes.get("MemAvailable", sizes["MemTotal"]) + sizes.get("SwapFree", 0))


def _limits() -> list[int]:
    """Return the memory limits of the container and of the process."""
    limits = [1 << 62]
    for path in _GROUP_LIMITS:
        try:
            text = path.read_text(encoding="ascii").strip()
        except OSError:
            continue
        if text.isdecimal():  # not "max"
            limits.append(int(text))
    try:
        import resource
    except ImportError:  # Windows
        return limits
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return limits if soft == resource.RLIM_INFINITY else [*limits, soft]
