"""Transfer of channels from a server on one node to relays on other nodes."""

from mdreel.live.nodes.relay import Relay
from mdreel.live.nodes.security import Security
from mdreel.live.nodes.server import RelayStatus, Server

__all__ = ["Relay", "RelayStatus", "Security", "Server"]
