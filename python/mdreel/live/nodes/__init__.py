"""Transfer of channels from a server on the node of the simulation to relays on the nodes of the consumers."""

from mdreel.live.nodes.relay import Relay
from mdreel.live.nodes.security import Security
from mdreel.live.nodes.server import RelayStatus, Server

__all__ = ["Relay", "RelayStatus", "Security", "Server"]
