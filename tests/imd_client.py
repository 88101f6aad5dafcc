"""A client of IMD for tests, which shares nothing with mdreel; and a program that is one.

``python imd_client.py HOST:PORT`` connects, takes frames to the end, says ``joined`` and ``first``, and then, as JSON,
the steps of all frames and a digest of all positions.
With ``hang`` behind the address it stops reading at the first frame.
"""

import hashlib
import json
import socket
import struct
import sys
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

DISCONNECT, ENERGIES, POSITIONS, GO, HANDSHAKE, KILL, MDCOMM, PAUSE, RATE, IOERROR = range(10)
SESSION, RESUME, TIME, BOX, VELOCITIES, FORCES = range(10, 16)
LONG = 60.0


@dataclass
class Received:
    """What came of a frame."""

    step_time: float | None = None
    time: float | None = None
    step: int | None = None
    energies: tuple[float, ...] | None = None
    box: NDArray[Any] | None = None
    arrays: dict[int, NDArray[Any]] = field(default_factory=dict)

    @property
    def positions(self) -> NDArray[Any]:
        return self.arrays[POSITIONS]


class ImdClient:
    """A client that trusts the server, and waits for it."""

    def __init__(self, address: str, timeout: float = LONG) -> None:
        host, port = address.rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), timeout)
        try:
            self.version, self.switches = self._greeted()
        except BaseException:
            self.socket.close()
            raise

    def _greeted(self) -> tuple[int, bytes]:
        """The version, and what frames have."""
        said = self.read(8)
        assert struct.unpack(">i", said[:4]) == (HANDSHAKE,)
        (version,) = struct.unpack("<i", said[4:])  # in the byte order of the server, which is ours
        if version < 3:
            return version, b""
        assert struct.unpack(">ii", self.read(8)) == (SESSION, 7)
        return version, self.read(7)

    def go(self) -> Self:
        self.say(GO)
        return self

    def say(self, kind: int, value: int = 0) -> None:
        self.socket.sendall(struct.pack(">ii", kind, value))

    def read(self, n: int) -> bytes:
        content = b""
        while len(content) < n:
            some = self.socket.recv(n - len(content))
            if not some:
                raise EOFError(f"{len(content)} of {n} bytes")
            content += some
        return content

    def next(self) -> Received | None:
        """The next frame, up to its last message; None at the end."""
        last = POSITIONS
        if self.version == 3:
            last = FORCES if self.switches[6] else VELOCITIES if self.switches[5] else POSITIONS
        frame = Received()
        begun = self.socket.recv(1)
        if not begun:
            return None
        while True:
            kind, n = struct.unpack(">ii", begun + self.read(8 - len(begun)))
            begun = b""
            if kind == TIME:
                frame.step_time, frame.time, frame.step = struct.unpack("<ddq", self.read(24))
            elif kind == ENERGIES:
                step, *energies = struct.unpack("<i9f", self.read(40))
                frame.step = step if frame.step is None else frame.step
                frame.energies = tuple(energies)
            elif kind == BOX:
                frame.box = np.frombuffer(self.read(36), "<f4").reshape(3, 3)
            else:
                assert kind in (POSITIONS, VELOCITIES, FORCES)
                frame.arrays[kind] = np.frombuffer(self.read(12 * n), "<f4").reshape(-1, 3)
                if kind == last:
                    return frame

    def rest(self) -> list[Received]:
        """All frames up to the end."""
        frames = []
        while (frame := self.next()) is not None:
            frames.append(frame)
        return frames

    def close(self) -> None:
        self.socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def main(address: str, how: str = "read") -> None:
    client = ImdClient(address).go()
    print("joined", flush=True)
    steps, digest = [], hashlib.sha256()
    while (frame := client.next()) is not None:
        steps.append(frame.step)
        digest.update(frame.positions.tobytes())
        if len(steps) == 1:
            print("first", flush=True)
            if how == "hang":
                sys.stdin.read()
                return
    print(json.dumps({"steps": steps, "digest": digest.hexdigest()}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
