"""A simulation for tests: a process of its own that publishes frames on a channel.

``python publishing.py CHANNEL FIRST END HOW`` publishes the frames from FIRST to before END, as fast as there is room,
says so on its output, and then HOW: ``finish`` ends the channel, ``hang`` waits until its input is closed.
"""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from growing_file import N_ATOMS, positions
from mdreel.live.producers.producer import Producer

BOX = np.diag([50.0, 51.0, 52.0])


def simulate(channel: str | Path, first: int, end: int, how: str) -> "subprocess.Popen[str]":
    """Start a process that publishes frames."""
    command = [sys.executable, __file__, *map(str, (channel, first, end, how))]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def said(process: "subprocess.Popen[str]") -> str:
    """The next line that the process says."""
    assert process.stdout is not None
    return process.stdout.readline().strip()


@contextmanager
def running(command: Sequence[str | Path]) -> "Iterator[subprocess.Popen[str]]":
    """Start a process whose output is read, and leave none behind."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        except BaseException:
            process.kill()
            raise


def publish(producer: Producer, frame: int) -> int:
    """Publish a frame; return its number in the stream."""
    return producer.publish(positions(frame), 10 * frame, 0.5 * frame, BOX).sequence


def main(channel: str, first: int, end: int, how: str) -> None:
    with Producer(channel, N_ATOMS, n_slots=8, resume_step=10 * first or None) as producer:
        print("open", flush=True)
        for frame in range(first, end):
            publish(producer, frame)
        print("published", flush=True)
        if how == "hang":
            sys.stdin.read()


if __name__ == "__main__":
    name, begin, behind, manner = sys.argv[1:]
    main(name, int(begin), int(behind), manner)
