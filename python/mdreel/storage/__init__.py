"""Storage: trajectories written to files, cut into segments, joined, and described."""

from mdreel.storage.check import Defect, Report, check
from mdreel.storage.concat import concat
from mdreel.storage.convert import convert
from mdreel.storage.info import info
from mdreel.storage.repack import repack
from mdreel.storage.split import split
from mdreel.storage.written import Written

__all__ = ["Defect", "Report", "Written", "check", "concat", "convert", "info", "repack", "split"]
