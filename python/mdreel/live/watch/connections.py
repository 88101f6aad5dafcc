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

from mdreel.live.lobby import Lobby
from mdreel.live.watch.request_body import MOST_BODY_BYTES, body_length, read_body
from mdreel.live.watch.request_head import read_head
from mdreel.live.watch.token import PageAccess, Role, has_token_header

NO_PAGE = "default-src 'none'; frame-ancestors 'none'"
"""Content security policy for all responses except the page."""

_VIEWERS_MAY_NOT = "This address may only look. Open the operator's address that mdreel watch --operate has printed."
_IN_HEADER = "Send the token in the header Authorization: Bearer."
_OTHER_ORIGIN = "This request comes from another page."

_MOST_ANSWERS = 16
_ANSWER_SECONDS = 10.0
"""Timeout for sending a response, in s."""


@dataclass(frozen=True)
class Answer:
    """Response to a request.

    Attributes
    ----------
    kind : str
        Type of the content.
    content : bytes
        The content.
    policy : str
        Content security policy.
    status : HTTPStatus
        Status of the response.
    file_name : str or None
        Name under which a browser stores the content, or None to show it.
    """

    kind: str
    content: bytes
    policy: str = NO_PAGE
    status: HTTPStatus = HTTPStatus.OK
    file_name: str | None = None


@dataclass(frozen=True, eq=False)
class _Waiting:
    connection: socket.socket
    host: str

    def drop(self, why: str) -> None:
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)


class HttpServer(ThreadingHTTPServer):
    """HTTP server that answers each request in a separate thread. Each connection is used for a single request.

    Connections wait in a lobby until the head of a request has been received. If this lobby is full, the oldest
    connection is dropped, so that silent connections cannot block others. The number of concurrent responses is limited
    separately.

    Parameters
    ----------
    place : (str, int)
        Address and port.
    version : {4, 6}
        IP version of the address.
    access : PageAccess
        Access control for requests.
    answer : callable
        Function that returns a resource, given its path and the role of the client, or None if the resource does not
        exist.
    operate : callable
        Function that carries out the request of an operator, given its path and body, and returns the response, or None
        if the path does not exist.
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
        answer: Callable[[str, Role], Answer | None],
        operate: Callable[[str, bytes], Answer | None],
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.address_family = socket.AF_INET6 if version == 6 else socket.AF_INET
        self.access = access
        self.answer = answer
        self.operate = operate
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
        role = self._role()
        if role is None:
            self._refuse(HTTPStatus.FORBIDDEN)
        else:
            self._answer_with(lambda: self.server.answer(self.path, role))

    do_HEAD = do_GET  # noqa: N815

    def do_POST(self) -> None:
        """Carry out the request of an operator."""
        role = self._role()
        heads = self.headers
        if role is None:
            self._refuse(HTTPStatus.FORBIDDEN)
        elif role is not Role.OPERATOR:
            self._refuse(HTTPStatus.FORBIDDEN, _VIEWERS_MAY_NOT)
        elif not has_token_header(heads["Authorization"]):
            self._refuse(HTTPStatus.FORBIDDEN, _IN_HEADER)
        elif not PageAccess.is_same_origin(heads["Host"], heads["Origin"], heads["Sec-Fetch-Site"]):
            self._refuse(HTTPStatus.FORBIDDEN, _OTHER_ORIGIN)
        elif heads.get_content_type() != "application/json":
            self._refuse(HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
        elif (n_bytes := body_length(heads["Content-Length"])) is None or "Transfer-Encoding" in heads:
            self._refuse(HTTPStatus.LENGTH_REQUIRED)
        elif n_bytes > MOST_BODY_BYTES:
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        elif (body := read_body(self.connection, self.rfile.read(n_bytes), n_bytes, self.server.clock)) is None:
            self._refuse(HTTPStatus.BAD_REQUEST)
        else:
            self.connection.settimeout(_ANSWER_SECONDS)
            self._answer_with(lambda: self.server.operate(self.path, body))

    def _answer_with(self, find: Callable[[], Answer | None]) -> None:
        """Send the response that a function returns, unless too many responses are being sent."""
        if not self.server.answering.acquire(blocking=False):
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE)
            return
        try:
            if (answer := find()) is None:
                self._refuse(HTTPStatus.NOT_FOUND)
            else:
                self._say(answer)
        finally:
            self.server.answering.release()

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Refuse invalid requests. Clients without a token do not receive any details."""
        self._refuse(HTTPStatus(code) if self._role() is not None else HTTPStatus.FORBIDDEN)

    def _role(self) -> Role | None:
        heads = getattr(self, "headers", None)
        if heads is None or len(heads.get_all("Host") or ()) != 1:
            return None
        return self.server.access.role_of(heads["Host"], heads["Authorization"], self.path)

    def _refuse(self, status: HTTPStatus, why: str | None = None) -> None:
        self.close_connection = True
        self._say(Answer("text/plain; charset=utf-8", f"{why or status.phrase}\n".encode(), status=status))

    def _say(self, answer: Answer) -> None:
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.kind)
        self.send_header("Content-Length", str(len(answer.content)))
        self.send_header("Content-Security-Policy", answer.policy)
        if answer.file_name is not None:
            self.send_header("Content-Disposition", f'attachment; filename="{answer.file_name}"')
        # The URL contains the token, so it must not be sent to other sites or cached.
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("X-Frame-Options", "DENY")
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        self.send_header("Cross-Origin-Opener-Policy", "same-origin")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.content)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (the library's name)
        """Do nothing. Requests are not logged, because their URLs contain the token."""
