"""IMD: an engine's only client, whose frames go to a channel; and any number of clients of a channel."""

from mdreel.live.engines.imd.feed import Engine
from mdreel.live.engines.imd.hub import ClientStatus, Hub

__all__ = ["ClientStatus", "Engine", "Hub"]
