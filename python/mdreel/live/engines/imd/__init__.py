"""Hubs for the IMD protocol, which publish the frames of an engine and send them to IMD clients."""

from mdreel.live.engines.imd.feed import Engine
from mdreel.live.engines.imd.hub import ClientStatus, Hub

__all__ = ["ClientStatus", "Engine", "Hub"]
