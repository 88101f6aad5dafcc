"""Storage: trajectories written to files, cut into segments, and joined."""

from mdreel.storage.check import Defect, Report, check
from mdreel.storage.concat import concat
from mdreel.storage.convert import convert
from mdreel.storage.split import split
from mdreel.storage.written import Written

__all__ = ["Defect", "Report", "Written", "check", "concat", "convert", "split"]
