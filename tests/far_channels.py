"""Simulations and analyses for tests of channels between nodes: processes of their own, on whatever host.

``python far_channels.py produce N_FRAMES N_ATOMS HOW CHANNEL...`` opens the channels, waits for a line on its input,
and publishes the frames of each; HOW is ``finish`` or ``hang``. ``produce_parts N_ATOMS CHANNEL`` publishes as many
frames as each line of its input says, says ``published``, and ends the channel with its input. ``consume CHANNEL...``
joins channels, says ``joined``, and says of each in the end, as JSON: the numbers, steps and a digest of all frames,
what it has missed, and how it ended. ``serve ADDRESS CHANNEL`` serves a channel to everybody until its input ends, and
says what it has done for each relay, as JSON.
"""

import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mdreel.errors import StreamError
from mdreel.live.channels.consumer import Consumer
from mdreel.live.nodes import Server
from mdreel.live.producers.producer import Producer

BOX = np.diag([50.0, 51.0, 52.0])
PYTHON = [sys.executable, "-W", "error"]


def positions(channel: str, frame: int, n_atoms: int) -> NDArray[np.float32]:
    """The positions that a simulation publishes: others for each channel and frame."""
    seed = int.from_bytes(hashlib.sha256(f"{channel} {frame}".encode()).digest()[:8], "little")
    return np.random.default_rng(seed).random((n_atoms, 3), np.float32)


def digest_of(frames: "Iterator[NDArray[np.float32]]") -> str:
    """What all positions of a channel are, in a word."""
    digest = hashlib.sha256()
    for frame in frames:
        digest.update(frame.tobytes())
    return digest.hexdigest()


def expected(channel: str, n_frames: int, n_atoms: int) -> dict[str, Any]:
    """What a consumer says of a channel that it has seen from its beginning to its end."""
    return {
        "sequences": list(range(n_frames)),
        "steps": [10 * frame for frame in range(n_frames)],
        "digest": digest_of(positions(channel, frame, n_atoms) for frame in range(n_frames)),
        "missed": 0,
        "end": "finished",
    }


def produce(n_frames: int, n_atoms: int, how: str, names: Sequence[str]) -> None:
    """Publish frames on several channels at a time, as fast as there is room."""
    producers = [Producer(name, n_atoms, warn_after=120.0).open() for name in names]  # networks of tests are cut
    print("open", flush=True)
    sys.stdin.readline()

    def simulate(producer: Producer) -> None:
        for frame in range(n_frames):
            values = positions(producer.path.name, frame, n_atoms)
            producer.publish(values, 10 * frame, 0.5 * frame, BOX)
        if how == "finish":
            producer.end()

    of_each(simulate, producers)
    print("published", flush=True)
    if how == "hang":
        print(os.getpid(), flush=True)
        sys.stdin.read()


def produce_parts(n_atoms: int, name: str) -> None:
    """Publish as many frames as each line of the input says."""
    n_published = 0
    with Producer(name, n_atoms, warn_after=120.0) as producer:
        print("open", flush=True)
        for line in sys.stdin:
            for frame in range(n_published, n_published + int(line)):
                producer.publish(positions(name, frame, n_atoms), 10 * frame, 0.5 * frame, BOX)
            n_published += int(line)
            print("published", flush=True)


def serve(address: str, name: str) -> None:
    """Serve a channel until the input ends."""
    with Server(name, address, without_authentication=True) as server:
        print("served", flush=True)
        sys.stdin.read()
        print(json.dumps([vars(relay) for relay in server.relays]), flush=True)


def consume(names: Sequence[str]) -> None:
    """Take the frames of several channels at a time."""
    consumers = [Consumer(name, wait=60).open() for name in names]
    print("joined", flush=True)

    def look(consumer: Consumer) -> None:
        sequences, steps, digest, why = [], [], hashlib.sha256(), None
        try:
            for frame in consumer:
                sequences.append(frame.sequence)
                steps.append(frame.step)
                assert frame.positions is not None
                assert frame.box is not None
                assert frame.time == frame.step / 20
                assert (frame.box == BOX).all()
                digest.update(frame.positions.tobytes())
                if len(steps) == 1:
                    print("first", flush=True)
        except StreamError as error:
            why = str(error)
        said = {"sequences": sequences, "steps": steps, "digest": digest.hexdigest(), "missed": consumer.missed}
        line = json.dumps({**said, "end": consumer.end if why is None else why, "of": consumer.path.name})
        print(f"{line}\n", end="", flush=True)  # in one piece: several threads say something

    of_each(look, consumers)


def of_each(work: Any, things: Sequence[Any]) -> None:
    """Work on several things at a time."""
    threads = [threading.Thread(target=work, args=(thing,)) for thing in things]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def start(command: Sequence[str], **options: Any) -> "subprocess.Popen[str]":
    """Start a process whose lines are read."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "bufsize": 1}
    return subprocess.Popen(command, **pipes, **options)


def role(*words: object) -> list[str]:
    """The command of a simulation or an analysis."""
    return [*PYTHON, __file__, *map(str, words)]


def mdreel(*words: object) -> list[str]:
    """The command line."""
    return [*PYTHON, "-m", "mdreel.cli", *map(str, words)]


@contextmanager
def program_of(command: Sequence[object], **options: Any) -> "Iterator[subprocess.Popen[str]]":
    """A program whose standard error is read, and that is killed in the end."""
    pipe = {"stderr": subprocess.PIPE, "text": True, "bufsize": 1}
    with subprocess.Popen(list(map(str, command)), **pipe, **options) as process:
        try:
            yield process
        finally:
            process.kill()


def program(*words: object) -> "AbstractContextManager[subprocess.Popen[str]]":
    """The command line, as `program_of`."""
    return program_of(mdreel(*words))


def says(process: "subprocess.Popen[str]", words: str) -> None:
    """Wait until a program says something."""
    assert process.stderr is not None
    heard = []
    for line in process.stderr:
        heard.append(line)
        if words in line:
            return
    raise AssertionError("".join(heard))


def line_of(process: "subprocess.Popen[str]") -> str:
    """The next line that a process says."""
    assert process.stdout is not None
    return process.stdout.readline().strip()


def results_of(process: "subprocess.Popen[str]") -> dict[str, dict[str, Any]]:
    """What consumers have seen, by channel."""
    assert process.stdout is not None
    lines = [json.loads(line) for line in process.stdout if line.startswith("{")]
    return {said.pop("of"): said for said in lines}


if __name__ == "__main__":
    if sys.argv[1] == "produce":
        produce(int(sys.argv[2]), int(sys.argv[3]), sys.argv[4], sys.argv[5:])
    elif sys.argv[1] == "produce_parts":
        produce_parts(int(sys.argv[2]), sys.argv[3])
    elif sys.argv[1] == "serve":
        serve(*sys.argv[2:])
    else:
        consume(sys.argv[2:])
