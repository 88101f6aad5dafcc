"""A disk that is soon full."""

import gc
import os
import resource
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def full_disk(tmp_path: Path, kib: int = 16) -> Iterator[Path]:
    """A file system of `kib` KiB: a real one for root, elsewhere the kernel's limit on the size of a file."""
    if os.geteuid() == 0:
        mount = ["mount", "-t", "tmpfs", "-o", f"size={kib}k", "tmpfs", str(tmp_path)]
        if subprocess.run(mount, capture_output=True, check=False).returncode == 0:
            try:
                yield tmp_path
            finally:
                gc.collect()  # an exception that was caught may hold what has a file open
                subprocess.run(["umount", str(tmp_path)], check=True)
            return
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (512 * kib, limits[1]))
    try:
        yield tmp_path
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
