"""Archives: the frames of channels in files of the usual formats, each once, whoever dies meanwhile."""

from mdreel.live.archives.archive import Archived, archive

__all__ = ["Archived", "archive"]
