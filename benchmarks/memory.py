"""Anonymous memory of mdreel's job: what stays when the pages of mapped files are given back.

Run as a program with a job (``peers.job.Job``) as its argument, it does that job once and prints what it held.
"""

from __future__ import annotations

import json
import re
import sys
import threading
import time
import warnings
from pathlib import Path
from typing import Self

STATUS = Path("/proc/self/status")
INTERVAL = 0.001
"""Seconds between two looks at the memory."""


class Peak:
    """The largest anonymous memory of this process while the context is open, sampled by a thread."""

    def __init__(self) -> None:
        self.bytes = 0
        self.n_samples = 0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._sample)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _sample(self) -> None:
        while True:
            self.bytes = max(self.bytes, anonymous())
            self.n_samples += 1
            if self._done.wait(INTERVAL):
                return


def anonymous() -> int:
    """Return the resident anonymous memory of this process, bytes: the kernel's RssAnon."""
    match = re.search(r"RssAnon:\s*(\d+) kB", STATUS.read_text())
    if match is None:
        raise RuntimeError(f"{STATUS} has no line RssAnon")
    return 1024 * int(match[1])


def main() -> None:
    """Do the job and print what it held."""
    warnings.simplefilter("ignore")
    import mdreel  # noqa: F401

    imported = anonymous()
    from peers.job import Job, Read
    from peers.mdreel import prepare

    work = prepare(Job(**json.loads(sys.argv[1])))
    ready = anonymous()
    begin = time.perf_counter()
    with Peak() as peak:
        result = work()
    seconds = time.perf_counter() - begin
    report = {
        "imported_bytes": imported,
        "ready_bytes": ready,
        "peak_bytes": peak.bytes,
        "n_samples": peak.n_samples,
        "n_frames": result.n_frames if isinstance(result, Read) else len(result),
        "seconds": seconds,
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
