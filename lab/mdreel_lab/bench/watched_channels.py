"""Memory and CPU time of ``mdreel watch --web``: ``python -m mdreel_lab.bench.watched_channels``.

The script publishes frames on channels and notices of analyses from one process. It starts the server as another
process, and sends it the requests of a page. It prints a table: without a page, with a page, and with open channels.
"""

import argparse
import http.client
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from math import sin
from pathlib import Path
from time import monotonic, sleep
from urllib.parse import quote, urlsplit

import numpy as np

from mdreel.live.notices.file import NoticeFile
from mdreel.live.producers.producer import Producer

N_ATOMS = 3341
_FRAMES_PER_SECOND = 5
_COLUMNS = [["frame", ""], ["time", "ps"], ["rmsd", "Å"]]
_VARIABLE = "MDREEL_CHANNELS"


class PublishedAnalysis:
    """Notice of an analysis, to which rows are added as by a running analysis."""

    def __init__(self, channel: Path, name: str, n_rows: int) -> None:
        self._file = NoticeFile(channel, name)
        self._rows = [self._row(frame) for frame in range(n_rows)]
        self._begin()

    @staticmethod
    def _row(frame: int) -> list[float]:
        return [frame, 0.1 * frame, 3.0 + sin(0.01 * frame)]

    def add(self, n_rows: int) -> None:
        """Publish further rows."""
        new = [self._row(len(self._rows) + frame) for frame in range(n_rows)]
        self._rows += new
        if not self._file.add(self._line(new)):
            self._begin()

    def _begin(self) -> None:
        head = {"columns": _COLUMNS, "n_columns": len(_COLUMNS), "is_of_frames": True}
        self._file.begin(head, self._line(self._rows))

    def _line(self, rows: list[list[float]]) -> dict[str, object]:
        seconds = {"wall": 0.2 * len(self._rows), "wait": 0.19 * len(self._rows)}
        facts = {"state": "running", "reason": None, "n_frames": len(self._rows), "seconds": seconds}
        return {**facts, "rows": rows, "last": self._rows[-1]}


class Simulations:
    """Channels with one producer each, and notices of their analyses. This process publishes all of them.

    Parameters
    ----------
    n_channels, n_analyses, n_rows : int
        Number of channels, of analyses of each channel, and of rows of each notice at the beginning.
    """

    def __init__(self, n_channels: int, n_analyses: int, n_rows: int) -> None:
        self._stack = ExitStack()
        self._positions = np.zeros((N_ATOMS, 3), np.float32)
        producers = [Producer(f"run{number:02}", N_ATOMS, n_slots=4) for number in range(n_channels)]
        self._producers = [self._stack.enter_context(producer) for producer in producers]
        self._analyses = [
            PublishedAnalysis(producer.path, f"analysis {number}", n_rows)
            for producer in self._producers
            for number in range(n_analyses)
        ]
        self._n_frames = 0

    @property
    def channels(self) -> list[Path]:
        """Directories of the channels."""
        return [producer.path for producer in self._producers]

    def publish(self) -> None:
        """Publish a second of frames and of rows, and take a second for it."""
        due = monotonic()
        for at in range(_FRAMES_PER_SECOND):
            for producer in self._producers:
                producer.publish(self._positions, self._n_frames, 0.1 * self._n_frames)
            self._n_frames += 1
            for analysis in self._analyses[at::_FRAMES_PER_SECOND]:
                analysis.add(_FRAMES_PER_SECOND)
            due += 1 / _FRAMES_PER_SECOND
            sleep(max(0.0, due - monotonic()))

    def close(self) -> None:
        """End the channels."""
        self._stack.close()


@dataclass(frozen=True)
class Usage:
    """Resources of the server: resident and proportional set size in MB, its private part, and CPU time in percent."""

    rss: float
    pss: float
    private: float
    cpu: float


def set_sizes(process: int) -> tuple[float, float, float]:
    """Return RSS, PSS and private memory of a process in MB (10^6 bytes), from ``/proc/PID/smaps_rollup``."""
    said = Path(f"/proc/{process}/smaps_rollup").read_text()
    kilobytes = {found[1]: int(found[2]) for found in re.finditer(r"^(\w+): +(\d+) kB$", said, re.MULTILINE)}
    private = kilobytes["Private_Clean"] + kilobytes["Private_Dirty"]
    return 1.024e-3 * kilobytes["Rss"], 1.024e-3 * kilobytes["Pss"], 1.024e-3 * private


def cpu_seconds(process: int) -> float:
    """Return the CPU time of a process so far, in s."""
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def use(server: int, simulations: Simulations, seconds: int, url: str, resource: str | None) -> Usage:
    """Publish for some seconds, ask for a resource once a second, and return the greatest sizes and the CPU share."""
    begun, before = monotonic(), cpu_seconds(server)
    seen = []
    for _ in range(seconds):
        if resource is not None:
            _fetch(url, resource)
        simulations.publish()
        seen.append(set_sizes(server))
    rss, pss, private = map(max, zip(*seen, strict=True))
    return Usage(rss, pss, private, 100 * (cpu_seconds(server) - before) / (monotonic() - begun))


def _fetch(url: str, resource: str) -> None:
    place = urlsplit(url)
    connection = http.client.HTTPConnection(str(place.hostname), place.port, timeout=60)
    connection.request("GET", resource, headers={"Authorization": f"Bearer {place.query.partition('=')[2]}"})
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    if answer.status != 200:
        raise RuntimeError(f"{resource}: {answer.status} {content[:200]!r}")


def table(n_channels: int, n_analyses: int, n_rows: int, seconds: int) -> Iterator[str]:
    """Yield the lines of the table."""
    simulations = Simulations(n_channels, n_analyses, n_rows)
    command = [sys.executable, "-m", "mdreel.cli", "watch", "--web"]
    opened = [f"open={quote(str(channel))}" for channel in simulations.channels[:4]]
    pages = {"no page": None, "a page": "/state", f"a page, {len(opened)} open channels": f"/state?{'&'.join(opened)}"}
    yield "| Page | RSS, MB | PSS, MB | private, MB | % of a core |"
    yield "|---|---|---|---|---|"
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            url = server.stdout.readline().strip()
            for page, resource in pages.items():
                if resource is not None:
                    _fetch(url, "/")
                used = use(server.pid, simulations, seconds, url, resource)
                yield f"| {page} | {used.rss:.1f} | {used.pss:.1f} | {used.private:.1f} | {used.cpu:.1f} |"
        finally:
            server.send_signal(signal.SIGINT)
            simulations.close()


def main(words: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--channels", type=int, default=64)
    parser.add_argument("--analyses", type=int, default=5)
    parser.add_argument("--rows", type=int, default=1500)
    parser.add_argument("--seconds", type=int, default=30, help="duration of each row of the table")
    given = parser.parse_args(words)
    before = os.environ.get(_VARIABLE)
    with tempfile.TemporaryDirectory(prefix="mdreel-watched-", dir="/dev/shm") as folder:
        os.environ[_VARIABLE] = folder
        try:
            for line in table(given.channels, given.analyses, given.rows, given.seconds):
                print(line, flush=True)
        finally:
            os.environ.pop(_VARIABLE)
            if before is not None:
                os.environ[_VARIABLE] = before


if __name__ == "__main__":
    main()
