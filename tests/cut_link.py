"""A link between two processes that a test cuts: a forwarder of TCP connections at a loopback address.

A *closed* link refuses connections and resets those that it has, as a host that restarts its network does. A *silent*
link accepts and forwards nothing, as a cable that was pulled out.
"""

import socket
import threading
from contextlib import suppress
from typing import Self

from mdreel.live.nodes.local_token import forget_token


class CutLink:
    """Forwarder of connections to an address such as ``tcp/127.0.0.1:7447``, whose own address is `endpoint`."""

    def __init__(self, target: str) -> None:
        self._target = _host_and_port(target)
        self._listener: socket.socket | None = None
        self._port = 0
        self._is_open = threading.Event()
        self._pairs: list[socket.socket] = []
        self._lock = threading.Lock()
        self.n_connections = 0
        self.open()

    @property
    def endpoint(self) -> str:
        """Address at which the link accepts connections."""
        return f"tcp/127.0.0.1:{self._port}"

    def open(self) -> None:
        """Forward what comes, and accept connections."""
        self._is_open.set()
        if self._listener is not None:
            return
        listener = socket.create_server(("127.0.0.1", self._port))  # sets SO_REUSEADDR
        self._listener, self._port = listener, listener.getsockname()[1]
        forget_token(self.endpoint)  # of a server of an earlier test that had this port
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def silence(self) -> None:
        """Forward nothing until the link is opened; connections remain."""
        self._is_open.clear()

    def close(self) -> None:
        """Reset all connections, and refuse new ones until the link is opened."""
        listener, self._listener = self._listener, None
        if listener is not None:
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts
            listener.close()
        self._is_open.set()  # threads that wait end
        with self._lock:
            pairs, self._pairs = self._pairs, []
        for end in pairs:
            _reset(end)

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                near, _ = listener.accept()
                far = socket.create_connection(self._target, timeout=5.0)
            except OSError:
                if self._listener is not listener:
                    return
                with suppress(UnboundLocalError):
                    near.close()
                continue
            far.settimeout(None)
            with self._lock:
                if self._listener is not listener:
                    _reset(near)
                    _reset(far)
                    return
                self._pairs += (near, far)
                self.n_connections += 1
            for one, other in ((near, far), (far, near)):
                threading.Thread(target=self._forward, args=(one, other), daemon=True).start()

    def _forward(self, one: socket.socket, other: socket.socket) -> None:
        try:
            while content := one.recv(1 << 16):
                self._is_open.wait()
                other.sendall(content)
        except OSError:
            pass
        finally:
            _reset(one)
            _reset(other)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _host_and_port(endpoint: str) -> tuple[str, int]:
    host, _, port = endpoint.removeprefix("tcp/").rpartition(":")
    return host, int(port)


def _reset(end: socket.socket) -> None:
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    end.close()
