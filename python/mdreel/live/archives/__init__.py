"""Trajectory files that contain every frame of a channel exactly once."""

from mdreel.live.archives.archive import Archived, archive

__all__ = ["Archived", "archive"]
