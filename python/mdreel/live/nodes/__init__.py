"""Channels across nodes: a server where the simulation is, a relay where consumers are, Zenoh between the two."""

from mdreel.live.nodes.relay import Relay, relay
from mdreel.live.nodes.security import Security
from mdreel.live.nodes.server import RelayStatus, Server, serve

__all__ = ["Relay", "RelayStatus", "Security", "Server", "relay", "serve"]
