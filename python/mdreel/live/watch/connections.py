"""HTTP server for the page, with limits on the number and the duration of connections."""

import socket
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BufferedReader, BytesIO
from threading import BoundedSemaphore, Lock
from time import monotonic
from typing import Any

from mdreel.live.engines.imd.lobby import Lobby
from mdreel.live.watch.request_head import read_head
from mdreel.live.watch.token import PageAccess

NO_PAGE = "default-src 'none'; frame-ancestors 'none'"
"""Content security policy for all responses except the page."""

_MOST_ANSWERS = 16
_ANSWER_SECONDS = 10.0
"""Timeout for sending a response, in s."""


@dataclass(frozen=True, eq=False)
class _Waiting:
    connection: socket.socket
    host: str

    def drop(self, why: str) -> None:
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)


class HttpServer(ThreadingHTTPServer):
    """HTTP server that answers each request in a separate thread. Each connection is used for a single request.

    Connections wait in a lobby until the head of a request has been received. If there are too many connections, the
    oldest connection is dropped, so that silent connections do not block others. The number of concurrent responses is
    limited separately.

    Parameters
    ----------
    place : (str, int)
        Address and port.
    version : {4, 6}
        IP version of the address.
    access : PageAccess
        Access control for requests.
    answer : callable
        Function that returns the type, the content and the policy of a resource, or None if the resource does not
        exist.
    clock : callable
        Function that returns the monotonic time, in s. It is used for the timeout of requests.
    """

    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(
        self,
        place: tuple[str, int],
        version: int,
        access: PageAccess,
        answer: Callable[[str], tuple[str, bytes, str] | None],
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.address_family = socket.AF_INET6 if version == 6 else socket.AF_INET
        self.access = access
        self.answer = answer
        self.answering = BoundedSemaphore(_MOST_ANSWERS)
        self.clock = clock
        self._lock = Lock()
        self._lobby: Lobby[_Waiting] = Lobby()
        super().__init__(place, _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Add a connection to the lobby, and start its thread."""
        waiting = _Waiting(request, client_address[0])
        with self._lock:
            self._lobby.enter(waiting)
        try:
            super().process_request(request, client_address)
        except BaseException:
            self.leave_lobby(request)
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Process a connection, and remove it from the lobby."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.leave_lobby(request)

    def leave_lobby(self, request: socket.socket) -> None:
        """Remove a connection from the lobby."""
        with self._lock:
            for waiting in self._lobby.all():
                if waiting.connection is request:
                    self._lobby.leave(waiting)

    def server_bind(self) -> None:
        """Bind the socket without a DNS lookup of the host name."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore errors on connections that were aborted by the client."""


class _Handler(BaseHTTPRequestHandler):
    server: HttpServer
    server_version = "mdreel"
    sys_version = ""

    def handle(self) -> None:
        """Read the head of a request, and answer the request."""
        head = read_head(self.connection, self.server.clock)
        self.server.leave_lobby(self.connection)
        if not head:
            return
        self.connection.settimeout(_ANSWER_SECONDS)  # for the complete response
        self.rfile = BufferedReader(BytesIO(head))
        self.close_connection = True
        self.handle_one_request()

    def do_GET(self) -> None:
        """Answer a GET or HEAD request."""
        if not self._is_granted():
            self._refuse(HTTPStatus.FORBIDDEN)
        elif not self.server.answering.acquire(blocking=False):
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE)
        else:
            try:
                self._answer()
            finally:
                self.server.answering.release()

    def _answer(self) -> None:
        if (answer := self.server.answer(self.path)) is None:
            self._refuse(HTTPStatus.NOT_FOUND)
        else:
            self._say(HTTPStatus.OK, *answer)

    do_HEAD = do_GET  # noqa: N815

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Refuse invalid and modifying requests. Clients without a token do not receive any details."""
        self._refuse(HTTPStatus(code) if self._is_granted() else HTTPStatus.FORBIDDEN)

    def _is_granted(self) -> bool:
        heads = getattr(self, "headers", None)
        if heads is None or len(heads.get_all("Host") or ()) != 1:
            return False
        return self.server.access.is_granted(heads["Host"], heads["Authorization"], self.path)

    def _refuse(self, status: HTTPStatus) -> None:
        self.close_connection = True
        self._say(status, "text/plain; charset=utf-8", f"{status.phrase}\n".encode(), NO_PAGE)

    def _say(self, status: HTTPStatus, kind: str, content: bytes, policy: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Content-Security-Policy", policy)
        # The URL contains the token, so it must not be sent to other sites or cached.
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("X-Frame-Options", "DENY")
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        self.send_header("Cross-Origin-Opener-Policy", "same-origin")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (the library's name)
        """Do nothing. Requests are not logged, because their URLs contain the token."""
