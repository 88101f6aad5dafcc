"""Archivers that are killed at random moments while frames are published.

``python archivers_killed_at_random.py SEED N_SEEDS FOLDER`` publishes frames and kills archivers, for N_SEEDS seeds;
half of the channels have staging. It fails if an archive lacks published frames and no error has said so.
"""

import os
import signal
import sys
from pathlib import Path
from time import sleep

import numpy as np

import mdreel
from growing_file import N_ATOMS, positions
from mdreel._core import FrameSet
from mdreel.errors import MdreelError, StreamError
from mdreel.live.archives import archiver
from mdreel.live.channels.staging import Staging
from mdreel.live.producers.producer import Producer
from publishing import publish

_N_KILLS = 5
_MEMBER = "group.archive.member.0"


def start_archiver(channel: str, path: Path) -> int:
    """Start a process that archives a channel; return its number."""
    process = os.fork()
    if process:
        return process
    archiver.COMMIT_SECONDS = 0.002
    try:
        mdreel.live.archive(channel, path)
    except MdreelError:
        os._exit(1)
    os._exit(0)


def steps_of(path: Path) -> list[int]:
    """Steps of the frames of an archive, whose positions are compared with those that were published."""
    source = mdreel.open(path)
    reader = source.reader(np.arange(N_ATOMS, dtype=np.uint32), ["positions"])
    read = reader.read(FrameSet.range(0, 1, source.n_frames))
    steps = [int(step) for step in read.steps]
    np.testing.assert_array_equal(read.positions, [positions(step // 10) for step in steps])
    return steps


def try_seed(seed: int, folder: Path) -> str:
    """Publish frames, kill archivers, and compare the archive of the last one; return what it said."""
    random = np.random.default_rng(seed)
    channel, path = f"run{seed}", folder / f"{seed}.h5md"
    staging = Staging(folder / f"staging{seed}", n_frames=1, segment_bytes=1000) if seed % 2 else None
    n_frames = 0
    with Producer(channel, N_ATOMS, n_slots=16, full="drop-oldest", staging=staging) as producer:
        for _ in range(_N_KILLS):
            process = start_archiver(channel, path)
            # Frames are kept for an archive as soon as its group exists.
            while not (folder / f"staging{seed}" if staging else producer.path).joinpath(_MEMBER).exists():
                sleep(0.001)
            for frame in range(n_frames, n_frames + int(random.integers(1, 40))):
                publish(producer, frame)
                n_frames = frame + 1
                sleep(random.choice([0.0, 0.0002]))
            sleep(random.uniform(0.0, 0.01))
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
    every = [10 * frame for frame in range(n_frames)]
    refusal = ""
    try:
        n_missed = mdreel.live.archive(channel, path).n_missed
    except StreamError as error:
        refusal = str(error)
        assert not path.exists(), seed
        n_missed = mdreel.live.archive(channel, path, on_missed="skip").n_missed
    assert (n_missed > 0) == ("were overwritten before they were archived" in refusal), (seed, refusal)
    assert not (staging and refusal), (seed, refusal)
    steps = steps_of(path)
    assert sorted(set(steps)) == steps, seed
    assert set(steps) <= set(every), seed
    assert len(steps) + n_missed == n_frames, (seed, len(steps), n_missed, n_frames)
    return "gap" if n_missed else "whole"


def main(seed: int, n_seeds: int, folder: Path) -> None:
    """Try several seeds, and say how often an archive was whole."""
    found = [try_seed(number, folder) for number in range(seed, seed + n_seeds)]
    print(found.count("whole"), found.count("gap"), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
