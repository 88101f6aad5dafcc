"""Both sides of each solution."""

from mdreel_lab.bench.exchange import catalogue as names
from mdreel_lab.bench.exchange.solutions import channel, dyad, files, iceoryx, managed, nats, redis, sst, tcp, zenoh
from mdreel_lab.bench.exchange.solutions.side import Side

WAYS: dict[str, tuple[type[Side], type[Side]]] = {
    **dict.fromkeys((names.RING, names.STAGED), (channel.Sender, channel.Receiver)),
    names.MANAGED: (managed.Sender, managed.Receiver),
    **dict.fromkeys(names.FILES, (files.Sender, files.Receiver)),
    names.SST: (sst.Sender, sst.Receiver),
    names.DYAD: (dyad.Sender, dyad.Receiver),
    names.ICEORYX: (iceoryx.Sender, iceoryx.Receiver),
    **dict.fromkeys((names.ZENOH, names.ZENOH_SHARED), (zenoh.Sender, zenoh.Receiver)),
    names.REDIS: (redis.Sender, redis.Receiver),
    names.NATS: (nats.Sender, nats.Receiver),
    names.TCP: (tcp.Sender, tcp.Receiver),
}
"""The sender and the receiver of each solution."""
