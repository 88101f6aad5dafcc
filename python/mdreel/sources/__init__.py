"""Sources: where frames come from."""

from mdreel.sources.follow import follow
from mdreel.sources.name import name_of
from mdreel.sources.open import open_source
from mdreel.sources.remote import RemoteFile
from mdreel.sources.universe import source_of

__all__ = ["RemoteFile", "follow", "name_of", "open_source", "source_of"]
