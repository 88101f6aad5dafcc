"""Sources: where frames come from."""

from mdreel.sources.open import open_source
from mdreel.sources.universe import source_of

__all__ = ["open_source", "source_of"]
