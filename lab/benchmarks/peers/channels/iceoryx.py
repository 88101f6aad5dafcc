"""iceoryx2: frames in its shared memory, and its events for who waits."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import iceoryx2 as iox2
import numpy as np

from peers.channels.work import Work

N_KEPT = 4


class Side:
    """What both sides open."""

    def __init__(self, work: Work) -> None:
        iox2.set_log_level(iox2.LogLevel.Error)
        self.node = iox2.NodeBuilder.new().create(iox2.ServiceType.Ipc)
        name = iox2.ServiceName.new(f"mdreel {Path(work.place).name}")
        builder = self.node.service_builder(name).publish_subscribe(iox2.Slice[ctypes.c_uint8])
        builder = builder.enable_safe_overflow(False).subscriber_max_buffer_size(N_KEPT)
        self.frames = builder.payload_alignment(iox2.Alignment.new(64)).open_or_create()
        self.events = self.node.service_builder(name).event().open_or_create()


class Producer(Side):
    """Loans memory, copies the frame into it, sends it, and notifies."""

    def __init__(self, work: Work) -> None:
        super().__init__(work)
        builder = self.frames.publisher_builder().initial_max_slice_len(work.n_bytes)
        self.publisher = builder.backpressure_strategy(iox2.BackpressureStrategy.RetryUntilDelivered).create()
        self.notifier = self.events.notifier_builder().create()

    def publish(self, number: int, frame: np.ndarray) -> None:
        """Publish one."""
        loan = self.publisher.loan_slice_uninit(frame.nbytes)
        ctypes.memmove(loan.payload_ptr, frame.ctypes.data, frame.nbytes)
        loan.assume_init().send()
        self.notifier.notify()

    def close(self) -> None:
        """The ports go with the process."""


class Consumer(Side):
    """Sleeps until it is notified, and takes what is there."""

    def __init__(self, work: Work) -> None:
        super().__init__(work)
        self.subscriber = self.frames.subscriber_builder().create()
        self.listener = self.events.listener_builder().create()
        self.sample: Any = None

    def take(self) -> list[Any]:
        """Take the next, which stays until the one behind it is wanted."""
        self.sample = None
        while (sample := self.subscriber.receive()) is None:
            self.listener.blocking_wait()
        self.sample = sample
        return [np.asarray(sample.payload().as_memory_view())]

    def close(self) -> None:
        """The ports go with the process."""
