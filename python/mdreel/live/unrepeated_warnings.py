"""Warnings from analyses whose results are computed repeatedly."""

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from mdreel.foundation.stack_level import caller_level

_NUMBER = re.compile(r"\d+(\.\d+)?")


class UnrepeatedWarnings:
    """Issues each warning from a block of code only once, even if the block runs many times.

    Two warnings are considered the same if they differ only in numbers, because numbers change as frames arrive.
    """

    def __init__(self) -> None:
        self._issued: set[tuple[type[Warning], str]] = set()

    @contextmanager
    def of_block(self) -> Iterator[None]:
        """Run a block of code, and then issue its new warnings."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
        for one in caught:
            key = one.category, _NUMBER.sub("0", str(one.message))
            if key not in self._issued:
                self._issued.add(key)
                warnings.warn(one.message, one.category, stacklevel=caller_level())
