"""Local, read-only HTTP server of `mdreel watch`."""

import json
import secrets
import socket
import time
from collections.abc import Sequence
from ipaddress import ip_address
from threading import Thread
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

from mdreel.errors import MismatchError
from mdreel.live.watch.connections import NO_PAGE, HttpServer
from mdreel.live.watch.metrics import CONTENT_TYPE, metrics
from mdreel.live.watch.page import Page, page
from mdreel.live.watch.snapshot import Seen
from mdreel.live.watch.snapshot_json import facts_of
from mdreel.live.watch.sparkline import bars
from mdreel.live.watch.token import Access
from mdreel.live.watch.watcher import Watcher

_MOST_OPEN = 16
"""So many channels are told with their curves in one answer."""


class Server:
    """Shows what a watcher sees, as a page and for programs.

    Parameters
    ----------
    watcher : Watcher
        Looks at channels, once in an interval, however many look at the page.
    address : str
        The address of this machine on which it listens.
    port : int
        Where; 0 for any that is free.
    interval : float
        How often it is looked, s.

    Attributes
    ----------
    token : str
        What a request must have to be answered.

    Raises
    ------
    MismatchError
        If the address is none.
    OSError
        If nobody can listen there.
    """

    def __init__(self, watcher: Watcher, address: str = "127.0.0.1", port: int = 0, interval: float = 1.0) -> None:
        try:
            self._address = ip_address("127.0.0.1" if address == "localhost" else address.strip("[]"))
        except ValueError:
            raise MismatchError(f"expected an address of this machine, as 127.0.0.1, got {address!r}") from None
        self.token = secrets.token_urlsafe(24)
        self._watcher = watcher
        self._interval = interval
        self._seen: tuple[Seen, ...] = ()
        try:
            place = str(self._address), port
            self._http = HttpServer(place, self._address.version, Access(self.token, self._names()), self._answer)
        except OSError as error:
            raise type(error)(error.errno, error.strerror or str(error), f"{address}, port {port}") from None

    @property
    def is_local(self) -> bool:
        """Whether nobody else reaches it."""
        return self._address.is_loopback

    @property
    def url(self) -> str:
        """Where the page is, with the token."""
        host = socket.gethostname() if self._address.is_unspecified else str(self._address)
        host = f"[{host}]" if ":" in host else host
        return f"http://{host}:{self._http.server_address[1]}/?token={self.token}"

    def serve(self) -> None:
        """Look, again and again, until Ctrl-C."""
        while True:
            time.sleep(self._interval)
            self.look()

    def look(self) -> None:
        """Look once; this is what is shown from now on."""
        self._seen = tuple(self._watcher.look())

    def _names(self) -> set[str]:
        """Return what this machine is called; a name server is asked only for those who come from elsewhere."""
        name = socket.gethostname()
        return {name} if self.is_local else {name, socket.getfqdn()}

    def _answer(self, path: str) -> tuple[str, bytes, str] | None:
        """Return type, content and policy of what is asked for; None if there is no such thing."""
        asked = urlsplit(path)
        if asked.path == "/":
            shown: Page = page(self._interval)
            return "text/html; charset=utf-8", shown.content, shown.policy
        if asked.path == "/state":
            state = state_of(self._seen, parse_qs(asked.query).get("open", []))
            text = json.dumps(state, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
            return "application/json", text.encode(errors="replace"), NO_PAGE
        if asked.path == "/metrics":
            return CONTENT_TYPE, metrics(self._seen).encode(errors="replace"), NO_PAGE
        return None

    def __enter__(self) -> Self:
        self.look()
        Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.2}, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._http.shutdown()
        self._http.server_close()


def state_of(seen: Sequence[Seen], opened: Sequence[str]) -> dict[str, Any]:
    """Return what the page is told.

    Parameters
    ----------
    seen : sequence of Seen
        The channels.
    opened : sequence of str
        The paths of those of which the page shows curves, too.
    """
    wanted = set(opened[:_MOST_OPEN])
    channels = []
    for one in seen:
        is_open = str(one.path) in wanted
        facts = facts_of(one, with_curves=is_open)
        if not is_open:
            del facts["steering"]
        channels.append({**facts, "bars": bars(one.history[:, 1], 32, from_zero=True)})
    return {"time": time.time(), "channels": channels}
