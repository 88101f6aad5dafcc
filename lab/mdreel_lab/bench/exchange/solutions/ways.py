"""The module of each solution."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Protocol

from mdreel_lab.bench.exchange import catalogue as names
from mdreel_lab.bench.exchange.solutions import channel, dyad, files, iceoryx, managed, nats, redis, sst, tcp, zenoh
from mdreel_lab.bench.exchange.work import Work


class Way(Protocol):
    """A module of a solution; see `mdreel_lab.bench.exchange.solutions`."""

    @property
    def Sender(self) -> Any:  # noqa: N802 - a class
        """The context manager of a producer."""

    @property
    def Receiver(self) -> Any:  # noqa: N802
        """The context manager of a consumer."""

    def missing(self, work: Work) -> str:
        """Say what is missing; nothing where all is there."""


WAYS: Mapping[str, Way] = MappingProxyType(
    {
        names.RING: channel,
        names.STAGED: channel,
        names.MANAGED: managed,
        **dict.fromkeys(names.FILES, files),
        names.SST: sst,
        names.DYAD: dyad,
        names.ICEORYX: iceoryx,
        names.ZENOH: zenoh,
        names.ZENOH_SHARED: zenoh,
        names.REDIS: redis,
        names.NATS: nats,
        names.TCP: tcp,
    }
)
"""The modules by solution; each imports its library when it is used."""
