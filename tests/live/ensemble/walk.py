"""A simulation for tests of ensembles: a walk of a few atoms, each frame of which is known from its seed and number.

It publishes on a channel, writes each frame that it publishes into a trajectory of its own, as float32, and a
checkpoint every few frames. It may kill itself, or stand still, at a frame: once, as a file beside it tells.
"""

import argparse
import os
import signal
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mdreel.live.channels.requests import Request
from mdreel.live.channels.staging import Staging
from mdreel.live.producers.producer import Producer

N_ATOMS = 5
N_SLOTS = 8
STRIDE = 10
STEP_PS = 0.002
BOX = np.diag([30.0, 31.0, 32.0])


def frame_of(seed: int, frame: int) -> NDArray[np.float32]:
    """Positions of all atoms, shape (N_ATOMS, 3), Å."""
    random = np.random.default_rng([seed, frame])
    return (random.normal(size=(N_ATOMS, 3)) * 3 + 0.1 * frame).astype(np.float32)


def trajectory_of(path: Path) -> NDArray[np.float32]:
    """What a simulation has written into its own trajectory."""
    return np.fromfile(path, np.float32).reshape(-1, N_ATOMS, 3)


class Walk:
    """A walk in its directory, which is the working directory."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._checkpoint = Path("state.chk")
        self._trajectory = os.open("own.f32", os.O_WRONLY | os.O_CREAT, 0o666)

    def run(self) -> None:
        options = self._options
        first = int(Path(options.restart).read_text()) if options.restart else 0
        # In files of a few frames each, as a file goes as a whole.
        kept = {"n_frames": options.keep, "segment_bytes": 2000} if options.keep else {}
        staging = Staging(options.staging, **kept) if options.staging else None
        if options.no_wait:
            os.kill(os.getppid(), signal.SIGSTOP)  # who would analyse comes when frames have been overwritten
        with Producer(
            options.channel,
            N_ATOMS,
            n_slots=N_SLOTS,
            time_step=STEP_PS,
            stride=STRIDE,
            staging=staging,
            resume_step=STRIDE * first if first else None,
        ) as producer:
            if not options.no_wait:
                producer.await_consumers(1)
            for frame in range(first, options.frames):
                positions = frame_of(options.seed, frame)
                # A frame has its place: what is computed again is written where it was.
                os.pwrite(self._trajectory, positions.tobytes(), frame * positions.nbytes)
                producer.publish(positions, STRIDE * frame, STRIDE * STEP_PS * frame, BOX)
                if options.no_wait and frame == 3 * N_SLOTS:
                    os.kill(os.getppid(), signal.SIGCONT)
                if frame % options.checkpoint_frames == options.checkpoint_frames - 1:
                    self._keep(frame + 1)
                self._obey(producer, frame)
                self._misbehave(frame)

    def _keep(self, next_frame: int) -> None:
        new = self._checkpoint.with_suffix(".new")
        new.write_text(str(next_frame))
        new.rename(self._checkpoint)

    def _obey(self, producer: Producer, frame: int) -> None:
        for request in producer.requests():
            self._answer(producer, request, frame)

    def _answer(self, producer: Producer, request: Request, frame: int) -> None:
        if request.kind != "stop":
            request.refuse("it only stops")
            return
        self._keep(frame + 1)
        request.answer("stopped")
        producer.end("stopped")
        sys.exit(0)

    def _misbehave(self, frame: int) -> None:
        options = self._options
        for what, number in (("die", options.die_at), ("hang", options.hang_at), ("fail", options.fail_at)):
            marker = Path(f"has-{what}")
            if frame != number or (marker.exists() and not options.always):
                continue
            marker.touch()
            if what == "fail":
                raise RuntimeError(f"frame {frame} was too much")
            os.kill(os.getpid(), signal.SIGKILL if what == "die" else signal.SIGSTOP)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("channel")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--frames", type=int, required=True)
    parser.add_argument("--restart")
    parser.add_argument("--staging")
    parser.add_argument("--keep", type=int, help="frames that staging keeps; by default all")
    parser.add_argument("--no-wait", action="store_true", help="publish frames whether or not anybody is there")
    parser.add_argument("--checkpoint-frames", type=int, default=10)
    parser.add_argument("--die-at", type=int)
    parser.add_argument("--hang-at", type=int)
    parser.add_argument("--fail-at", type=int)
    parser.add_argument("--only", type=int, nargs="*", help="seeds of those that misbehave; by default all")
    parser.add_argument("--always", action="store_true", help="misbehave each time, and not once")
    options = parser.parse_args()
    if options.only is not None and options.seed not in options.only:
        options.die_at = options.hang_at = options.fail_at = None
    return options


if __name__ == "__main__":
    Walk(parse()).run()
