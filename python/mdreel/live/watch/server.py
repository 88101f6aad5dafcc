"""Read-only web server of the watcher, which is protected by a token."""

import json
import secrets
import socket
import time
from collections.abc import Sequence
from ipaddress import ip_address
from threading import Thread
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

from mdreel.errors import MismatchError
from mdreel.live.watch.connections import NO_PAGE, HttpServer
from mdreel.live.watch.metrics import CONTENT_TYPE, metrics
from mdreel.live.watch.page import Page, page
from mdreel.live.watch.snapshot import ChannelSnapshot
from mdreel.live.watch.snapshot_json import to_json
from mdreel.live.watch.sparkline import bars
from mdreel.live.watch.token import PageAccess
from mdreel.live.watch.watcher import Watcher

_MOST_OPEN = 16
"""Maximum number of channels for which a response contains curves."""


class WatchServer:
    """Server that provides the snapshots of a watcher as a web page, as JSON and as Prometheus metrics.

    Parameters
    ----------
    watcher : Watcher
        The watcher. It takes one snapshot per interval, regardless of the number of clients.
    address : str
        IP address at which the server listens.
    port : int
        Port. If it is 0, a free port is chosen.
    interval : float
        Time between two snapshots, in s.

    Attributes
    ----------
    token : str
        Token that has to be included in requests.

    Raises
    ------
    MismatchError
        If the address is invalid.
    OSError
        If the server cannot listen at the address.
    """

    def __init__(self, watcher: Watcher, address: str = "127.0.0.1", port: int = 0, interval: float = 1.0) -> None:
        try:
            self._address = ip_address("127.0.0.1" if address == "localhost" else address.strip("[]"))
        except ValueError:
            raise MismatchError(f"expected an IP address of this machine, such as 127.0.0.1, got {address!r}") from None
        self.token = secrets.token_urlsafe(24)
        self._watcher = watcher
        self._interval = interval
        self._snapshots: tuple[ChannelSnapshot, ...] = ()
        try:
            place = str(self._address), port
            self._http = HttpServer(place, self._address.version, PageAccess(self.token, self._names()), self._answer)
        except OSError as error:
            raise type(error)(error.errno, error.strerror or str(error), f"{address}, port {port}") from None

    @property
    def is_local(self) -> bool:
        """Whether the server can be reached only from this machine."""
        return self._address.is_loopback

    @property
    def url(self) -> str:
        """URL of the page, including the token."""
        host = socket.gethostname() if self._address.is_unspecified else str(self._address)
        host = f"[{host}]" if ":" in host else host
        return f"http://{host}:{self._http.server_address[1]}/?token={self.token}"

    def serve(self) -> None:
        """Take snapshots until Ctrl-C."""
        while True:
            time.sleep(self._interval)
            self.refresh()

    def refresh(self) -> None:
        """Take a snapshot, which the server then provides to its clients."""
        self._snapshots = tuple(self._watcher.take_snapshots())

    def _names(self) -> set[str]:
        """Return the host names of this machine. DNS is used only if other machines can connect."""
        name = socket.gethostname()
        return {name} if self.is_local else {name, socket.getfqdn()}

    def _answer(self, path: str) -> tuple[str, bytes, str] | None:
        """Return the type, the content and the policy of a resource, or None if the resource does not exist."""
        asked = urlsplit(path)
        if asked.path == "/":
            shown: Page = page(self._interval)
            return "text/html; charset=utf-8", shown.content, shown.policy
        if asked.path == "/state":
            state = state_to_json(self._snapshots, parse_qs(asked.query).get("open", []))
            text = json.dumps(state, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
            return "application/json", text.encode(errors="replace"), NO_PAGE
        if asked.path == "/metrics":
            return CONTENT_TYPE, metrics(self._snapshots).encode(errors="replace"), NO_PAGE
        return None

    def __enter__(self) -> Self:
        self.refresh()
        Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.2}, daemon=True).start()
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        self._http.shutdown()
        self._http.server_close()


def state_to_json(seen: Sequence[ChannelSnapshot], opened: Sequence[str]) -> dict[str, Any]:
    """Return the state of channels as JSON for the page, including curves for channels with paths in `opened`."""
    wanted = set(opened[:_MOST_OPEN])
    channels = []
    for one in seen:
        is_open = str(one.path) in wanted
        facts = to_json(one, with_curves=is_open)
        if not is_open:
            del facts["steering"]
        channels.append({**facts, "bars": bars(one.history[:, 1], 32, from_zero=True)})
    return {"time": time.time(), "channels": channels}
