"""Sequence number and durability of published frames."""

from typing import NamedTuple


class Published(NamedTuple):
    """Sequence number and durability of a published frame.

    Attributes
    ----------
    sequence : int
        Sequence number of the frame.
    level : {"ring", "file", "fsync", "dropped"}
        Durability of the frame, which can survive the end of a process (``ring``), the end of all processes (``file``),
        or a crash of the machine (``fsync``). If you use ``full="drop-oldest"`` without staging, a frame can also be
        ``dropped`` while consumers hold all slots of the ring.

    Examples
    --------
    >>> import numpy as np
    >>> import mdreel
    >>> with mdreel.live.Producer("run1", n_atoms=3) as producer:
    ...     producer.publish(np.zeros((3, 3), np.float32), step=0, time=0.0)
    Published(sequence=0, level='ring')
    """

    sequence: int
    level: str
