"""Behaviour of iceoryx2 after killed publishers and bad writes, for ``docs/design/012-channel.md``."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import time
from typing import Any

import iceoryx2 as iox2
import numpy as np

N_BYTES = 659_640
N_KILLS = 20
PATIENCE = 20.0


def opened(name: str) -> tuple[Any, Any, Any]:
    """Return a node, the service of frames and the service of events."""
    iox2.set_log_level(iox2.LogLevel.Error)
    node = iox2.NodeBuilder.new().create(iox2.ServiceType.Ipc)
    service = iox2.ServiceName.new(name)
    builder = node.service_builder(service).publish_subscribe(iox2.Slice[ctypes.c_uint8])
    frames = builder.enable_safe_overflow(False).subscriber_max_buffer_size(4).open_or_create()
    return node, frames, node.service_builder(service).event().open_or_create()


def publish(name: str, n_frames: int) -> None:
    """Publish frames that contain process id and frame number at both ends."""
    _node, frames, events = opened(name)
    builder = frames.publisher_builder().initial_max_slice_len(N_BYTES)
    publisher = builder.backpressure_strategy(iox2.BackpressureStrategy.RetryUntilDelivered).create()
    notifier = events.notifier_builder().create()
    frame = np.zeros(N_BYTES // 8, np.int64)
    for number in range(n_frames):
        frame[:2] = frame[-2:] = os.getpid(), number
        loan = publisher.loan_slice_uninit(N_BYTES)
        ctypes.memmove(loan.payload_ptr, frame.ctypes.data, N_BYTES)
        loan.assume_init().send()
        notifier.notify()
    print("sent", flush=True)
    sys.stdin.readline()


def started(name: str, n_frames: int) -> subprocess.Popen[str]:
    """Start a publisher and return its process."""
    command = (sys.executable, __file__, name, str(n_frames))
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def kill_one(name: str, node: Any, frames: Any, events: Any) -> None:
    """Kill a publisher that has sent three frames, one of which is in use."""
    subscriber = frames.subscriber_builder().create()
    listener = events.listener_builder().create()
    process = started(name, 3)
    assert process.stdout is not None
    process.stdout.readline()
    sample = subscriber.receive()
    child = os.fork()
    if not child:
        ctypes.memset(sample.payload().as_ptr(), 9, 8)
        os._exit(0)
    print("a subscriber that writes into a frame ends with signal", os.waitpid(child, 0)[1] & 127)
    process.kill()
    process.wait()
    n_left = 0
    while (left := subscriber.receive()) is not None:
        n_left += 1
        del left
    print("frames that were sent before a kill and are received after it:", n_left, "of 2")
    while listener.try_wait():
        pass
    begin = time.monotonic()
    told = listener.timed_wait(iox2.Duration.from_secs(3))
    print(f"a waiting subscriber is notified of the death: {bool(told)}, within {time.monotonic() - begin:.1f} s")
    print("publishers that are listed after it:", frames.dynamic_config.number_of_publishers)
    print("cleaning up:", node.try_cleanup_dead_nodes())
    print("publishers that are listed then:", frames.dynamic_config.number_of_publishers)
    print("the frame in use is still there:", sample.payload()[8] == 0)


def kill_many(name: str, frames: Any, node: Any) -> None:
    """Kill publishers while they publish as fast as they can."""
    subscriber = frames.subscriber_builder().create()
    n_frames = n_torn = n_starts = 0
    gaps: list[str] = []
    for kill in range(N_KILLS):
        process = started(name, 10**9)
        last, is_killed, until = -1, False, time.monotonic() + PATIENCE
        while time.monotonic() < until:
            sample = subscriber.receive()
            if sample is None:
                continue
            words = np.frombuffer(sample.payload().as_memory_view(), np.int64)
            begin, end = words[:2].tolist(), words[-2:].tolist()
            del words, sample
            n_frames += 1
            n_torn += begin != end
            if begin[0] == process.pid:
                if begin[1] != last + 1:
                    gaps.append(f"{last} to {begin[1]}")
                last = begin[1]
            if last >= 20 + kill and not is_killed:
                process.kill()
                process.wait()
                is_killed, until = True, time.monotonic() + 0.5
        n_starts += last >= 0
        process.kill()
        process.wait()
        node.try_cleanup_dead_nodes()
    print(f"{N_KILLS} kills: {n_starts} publishers were heard, {n_frames} frames, {n_torn} torn, gaps: {gaps}")


def main() -> None:
    """Run the experiments, or a publisher if a name is given."""
    if len(sys.argv) > 1:
        publish(sys.argv[1], int(sys.argv[2]))
        return
    name = f"mdreel faults {os.getpid()}"
    node, frames, events = opened(name)
    kill_one(name, node, frames, events)
    kill_many(name, frames, node)


if __name__ == "__main__":
    main()
