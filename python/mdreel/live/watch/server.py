"""Web server of the watcher, which is protected by tokens. Only operators can change anything."""

import json
import secrets
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from ipaddress import ip_address
from threading import Thread
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

from mdreel.errors import MdreelError, MismatchError
from mdreel.live.watch.alerts import Alerts
from mdreel.live.watch.comparison import compare
from mdreel.live.watch.connections import Answer, HttpServer
from mdreel.live.watch.downloads import download
from mdreel.live.watch.managed_analyses import ManagedAnalyses, managed_to_json
from mdreel.live.watch.metrics import CONTENT_TYPE, metrics
from mdreel.live.watch.molecule import Molecule
from mdreel.live.watch.operations import Operations
from mdreel.live.watch.page import Page, page, viewer_script
from mdreel.live.watch.simulation_control import SimulationControl
from mdreel.live.watch.snapshot import ChannelSnapshot
from mdreel.live.watch.snapshot_json import to_json
from mdreel.live.watch.sparkline import bars
from mdreel.live.watch.token import PageAccess, Role
from mdreel.live.watch.watcher import Watcher

_MOST_OPEN = 16
"""Maximum number of channels for which a response contains curves."""

_OF_CLOSED = ("key", "name", "state", "latest")
"""Facts about the analyses of channels that are not open. The page asks for all channels once per interval."""


@dataclass(frozen=True)
class PageFeatures:
    """Features of the page besides the snapshots of the watcher.

    Attributes
    ----------
    may_operate : bool
        Whether there is a token for operators.
    analyses : ManagedAnalyses or None
        Analyses that operators can add, or None if there is no topology.
    alerts : Alerts
        Alerts on live results.
    molecule : Molecule or None
        Atoms of the 3-D view, or None if there is no topology.
    simulations : SimulationControl
        Pauses of simulations.
    """

    may_operate: bool = False
    analyses: ManagedAnalyses | None = None
    alerts: Alerts = field(default_factory=Alerts)
    molecule: Molecule | None = None
    simulations: SimulationControl = field(default_factory=SimulationControl)


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
    features : PageFeatures, optional
        Features of the page besides the snapshots. By default, it only shows them.

    Attributes
    ----------
    token : str
        Token that viewers have to include in requests.
    operator_token : str or None
        Token that operators have to include in requests, or None if nobody may operate.

    Raises
    ------
    MismatchError
        If the address is invalid.
    OSError
        If the server cannot listen at the address.
    """

    def __init__(
        self,
        watcher: Watcher,
        address: str = "127.0.0.1",
        port: int = 0,
        interval: float = 1.0,
        features: PageFeatures | None = None,
    ) -> None:
        try:
            self._address = ip_address("127.0.0.1" if address == "localhost" else address.strip("[]"))
        except ValueError:
            raise MismatchError(f"expected an IP address of this machine, such as 127.0.0.1, got {address!r}") from None
        self._features = features or PageFeatures()
        self.token = secrets.token_urlsafe(24)
        self.operator_token = secrets.token_urlsafe(24) if self._features.may_operate else None
        self._operations = Operations(self._features.analyses, self._features.alerts, self._features.simulations)
        self._watcher = watcher
        self._interval = interval
        self._snapshots: tuple[ChannelSnapshot, ...] = ()
        access = PageAccess(self.token, self._names(), self.operator_token)
        try:
            place = str(self._address), port
            self._http = HttpServer(place, self._address.version, access, self._answer, self._operate)
        except OSError as error:
            raise type(error)(error.errno, error.strerror or str(error), f"{address}, port {port}") from None

    @property
    def is_local(self) -> bool:
        """Whether the server can be reached only from this machine."""
        return self._address.is_loopback

    @property
    def url(self) -> str:
        """URL of the page for viewers, including the token."""
        return self._url_with(self.token)

    @property
    def operator_url(self) -> str | None:
        """URL of the page for operators, including the token, or None if nobody may operate."""
        return None if self.operator_token is None else self._url_with(self.operator_token)

    def serve(self) -> None:
        """Take snapshots until Ctrl-C."""
        while True:
            time.sleep(self._interval)
            self.refresh()

    def refresh(self) -> None:
        """Take a snapshot, which the server then provides to its clients, and check the alerts."""
        self._snapshots = tuple(self._watcher.take_snapshots())
        self._features.alerts.check(self._snapshots)
        if self._features.molecule is not None:
            self._features.molecule.leave_idle()

    def _url_with(self, token: str) -> str:
        host = socket.gethostname() if self._address.is_unspecified else str(self._address)
        host = f"[{host}]" if ":" in host else host
        return f"http://{host}:{self._http.server_address[1]}/?token={token}"

    def _names(self) -> set[str]:
        """Return the host names of this machine. DNS is used only if other machines can connect."""
        name = socket.gethostname()
        return {name} if self.is_local else {name, socket.getfqdn()}

    def _answer(self, path: str, role: Role) -> Answer | None:
        """Return a resource, or None if the resource does not exist."""
        asked = urlsplit(path)
        if asked.path == "/":
            shown: Page = page(self._interval)
            return Answer("text/html; charset=utf-8", shown.content, shown.policy)
        if asked.path == "/state":
            opened = parse_qs(asked.query).get("open", [])
            return _json(self._features_of(role) | state_to_json(self._snapshots, opened, self._features))
        if asked.path == "/metrics":
            return Answer(CONTENT_TYPE, metrics(self._snapshots).encode(errors="replace"))
        try:
            return self._answer_with_features(asked.path, parse_qs(asked.query))
        except (MdreelError, OSError) as error:
            return _json({"error": str(error)}, HTTPStatus.CONFLICT)

    def _answer_with_features(self, path: str, asked: dict[str, list[str]]) -> Answer | None:
        """Return a resource that depends on the features of the page, or None if the resource does not exist."""
        analyses, molecule = self._features.analyses, self._features.molecule
        given = {name: values[0] for name, values in asked.items()}
        channel = next((one for one in self._snapshots if str(one.path) == given.get("channel")), None)
        match path:
            case "/analysis-types" if analyses is not None:
                return _json(dict(analyses.types.schema))
            case "/comparison":
                return _json(compare(self._snapshots, given.get("analysis", ""), given.get("column", "")))
            case "/results" if channel is not None:
                managed = [] if analyses is None else analyses.of_channel(channel.path)
                return download(channel, given.get("analysis", ""), given.get("format", "csv"), managed)
        return None if molecule is None else self._answer_with(molecule, path, given, channel)

    def _answer_with(
        self, molecule: Molecule, path: str, given: dict[str, str], channel: ChannelSnapshot | None
    ) -> Answer | None:
        """Return a resource of the 3-D view, or None if the resource does not exist."""
        match path:
            case "/viewer.js":
                return Answer("text/javascript; charset=utf-8", viewer_script())
            case "/molecule":
                return Answer("application/json", molecule.outline())
            case "/frame" if channel is not None:
                after = given.get("after", "0")
                number = int(after) if after.isdecimal() and len(after) < 16 else 0
                return Answer("application/octet-stream", molecule.frame(channel.path, number))
        return None

    def _features_of(self, role: Role) -> dict[str, Any]:
        """Return what a client may do."""
        may_operate = role is Role.OPERATOR
        return {
            "may_operate": may_operate,
            "may_analyse": may_operate and self._features.analyses is not None,
            "has_molecule": self._features.molecule is not None,
        }

    def _operate(self, path: str, body: bytes) -> Answer | None:
        """Carry out the request of an operator."""
        if urlsplit(path).path != "/operate":
            return None
        try:
            return _json(self._operations.carry_out(body, [one.path for one in self._snapshots]))
        except (MdreelError, OSError) as error:
            return _json({"error": str(error)}, HTTPStatus.BAD_REQUEST)

    def __enter__(self) -> Self:
        self.refresh()
        Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.2}, daemon=True).start()
        return self

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        self._http.shutdown()
        self._http.server_close()
        if self._features.analyses is not None:
            self._features.analyses.close()
        if self._features.molecule is not None:
            self._features.molecule.close()


def _json(content: dict[str, Any], status: HTTPStatus = HTTPStatus.OK) -> Answer:
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Answer("application/json", text.encode(errors="replace"), status=status)


def state_to_json(
    seen: Sequence[ChannelSnapshot], opened: Sequence[str], features: PageFeatures | None = None
) -> dict[str, Any]:
    """Return the state of channels as JSON for the page, including curves for channels with paths in `opened`."""
    wanted = set(opened[:_MOST_OPEN])
    channels = []
    for one in seen:
        is_open = str(one.path) in wanted
        facts = to_json(one, with_curves=is_open)
        del facts["consumers"]
        if not is_open:
            del facts["steering"]
            facts["analyses"] = [{name: one[name] for name in _OF_CLOSED if name in one} for one in facts["analyses"]]
        if features is not None:
            facts["alerts"] = features.alerts.of_channel(one.path)
            managed = [] if features.analyses is None else features.analyses.of_channel(one.path)
            facts["managed"] = managed_to_json(managed)
            facts["is_paused"] = features.simulations.is_paused(one.path, one.status)
        channels.append({**facts, "bars": bars(one.history.column(1), 32, from_zero=True)})
    return {"time": time.time(), "channels": channels}
