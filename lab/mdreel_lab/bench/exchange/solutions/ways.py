"""Both sides of each solution."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from mdreel_lab.bench.exchange import catalogue as names
from mdreel_lab.bench.exchange.solutions import channel, dyad, files, iceoryx, managed, nats, redis, sst, tcp, zenoh
from mdreel_lab.bench.exchange.solutions.side import Side, needs
from mdreel_lab.bench.exchange.work import Work


@dataclass(frozen=True)
class Way:
    """A solution, and a function that says what is missing for it, if anything; each imports its library late."""

    sender: type[Side]
    receiver: type[Side]
    missing: Callable[[Work], str]


WAYS: Mapping[str, Way] = MappingProxyType(
    {
        **dict.fromkeys((names.RING, names.STAGED), Way(channel.Sender, channel.Receiver, channel.missing)),
        names.MANAGED: Way(managed.Sender, managed.Receiver, needs()),
        **dict.fromkeys(names.FILES, Way(files.Sender, files.Receiver, files.missing)),
        names.SST: Way(sst.Sender, sst.Receiver, needs("adios2")),
        names.DYAD: Way(dyad.Sender, dyad.Receiver, dyad.missing),
        names.ICEORYX: Way(iceoryx.Sender, iceoryx.Receiver, needs("iceoryx2")),
        **dict.fromkeys((names.ZENOH, names.ZENOH_SHARED), Way(zenoh.Sender, zenoh.Receiver, needs("zenoh"))),
        names.REDIS: Way(redis.Sender, redis.Receiver, redis.missing),
        names.NATS: Way(nats.Sender, nats.Receiver, nats.missing),
        names.TCP: Way(tcp.Sender, tcp.Receiver, needs()),
    }
)
