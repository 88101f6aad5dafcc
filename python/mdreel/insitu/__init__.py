"""In situ: frames of running simulations for analyses on the same node, without files and without a server."""

from mdreel.insitu.channel import Channel, channel
from mdreel.insitu.consumer import Consumer
from mdreel.insitu.frame import Frame
from mdreel.insitu.managed import ManagedDirectory
from mdreel.insitu.manifest import Manifest
from mdreel.insitu.openmm import OpenMMReporter, StopRequested
from mdreel.insitu.preload import managed_environment, run_managed
from mdreel.insitu.producer import Producer, Published
from mdreel.insitu.producing import Producing
from mdreel.insitu.requests import Answer, Request, ask
from mdreel.insitu.staging import Staging
from mdreel.insitu.status import Status, channels

__all__ = [
    "Answer",
    "Channel",
    "Consumer",
    "Frame",
    "ManagedDirectory",
    "Manifest",
    "OpenMMReporter",
    "Producer",
    "Producing",
    "Published",
    "Request",
    "Staging",
    "Status",
    "StopRequested",
    "ask",
    "channel",
    "channels",
    "managed_environment",
    "run_managed",
]
