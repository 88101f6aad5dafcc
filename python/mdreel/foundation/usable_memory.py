"""Memory that this process can use."""

import os
import re
from pathlib import Path

_INFORMATION = Path("/proc/meminfo")
_GROUP_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
"""Files with the limit of a container, of both versions of control groups."""


def usable_memory() -> int:
    """Return the memory that this process can use now, bytes.

    Returns
    -------
    int
        The free memory of the machine, which includes the page cache and swap space, or the limit of the container or
        the process, if it is smaller. Where the system does not report the free memory, all memory of the machine.
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
    """Return the limits of the container and of the process."""
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
