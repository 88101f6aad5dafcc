"""iceoryx2: frames in its shared memory, and its events to wake the consumer."""

import ctypes
from typing import Any

import numpy as np

from mdreel_lab.bench.exchange.models import SerialisedFrame
from mdreel_lab.bench.exchange.solutions.side import Side

_N_KEPT = 4


class _Ports(Side):
    """The services that both sides open; ports end with the process."""

    packages = ("iceoryx2",)

    def open(self) -> None:
        """Open the services."""
        import iceoryx2 as iox2

        self._iox2: Any = iox2
        iox2.set_log_level(iox2.LogLevel.Error)
        self._node: Any = iox2.NodeBuilder.new().create(iox2.ServiceType.Ipc)
        name = iox2.ServiceName.new(f"mdreel {self.work.folder.name}")
        builder = self._node.service_builder(name).publish_subscribe(iox2.Slice[ctypes.c_uint8])
        builder = builder.enable_safe_overflow(False).subscriber_max_buffer_size(_N_KEPT)
        self._frames: Any = builder.payload_alignment(iox2.Alignment.new(64)).open_or_create()
        self._events: Any = self._node.service_builder(name).event().open_or_create()


class Sender(_Ports):
    """Loans memory, copies the frame into it, sends it, and notifies."""

    def open(self) -> None:
        """Make a publisher."""
        super().open()
        builder = self._frames.publisher_builder().initial_max_slice_len(self.work.molecule.frame_bytes)
        strategy = self._iox2.BackpressureStrategy.RetryUntilDelivered
        self._publisher = builder.backpressure_strategy(strategy).create()
        self._notifier = self._events.notifier_builder().create()

    def put(self, number: int, frame: SerialisedFrame) -> None:
        """Publish one."""
        with self.regions("write_single_buf"):
            loan = self._publisher.loan_slice_uninit(frame.buffer.nbytes)
            ctypes.memmove(loan.payload_ptr, frame.buffer.ctypes.data, frame.buffer.nbytes)
            loan.assume_init().send()
            self._notifier.notify()


class Receiver(_Ports):
    """Sleeps until it is notified, and looks at the frame where it lies."""

    def open(self) -> None:
        """Make a subscriber."""
        super().open()
        self._subscriber = self._frames.subscriber_builder().create()
        self._listener = self._events.listener_builder().create()
        self._sample: Any = None

    def get(self, number: int, frame: SerialisedFrame) -> None:
        """Take the next frame, which stays valid until the next call."""
        frame.hide()
        self._sample = None
        with self.regions("fetch"):
            while (sample := self._subscriber.receive()) is None:
                self._listener.blocking_wait()
        self._sample = sample
        frame.show([np.asarray(sample.payload().as_memory_view())])
