"""Outcome of publishing a frame."""

from typing import NamedTuple


class Published(NamedTuple):
    """Sequence number and durability of a published frame.

    Attributes
    ----------
    sequence : int
        Number of the frame in the stream.
    level : {"ring", "file", "fsync", "dropped"}
        Failures that the frame survives: the end of any process, of all processes, or of the machine. With
        ``full="drop-oldest"``, a frame is ``dropped`` if consumers hold all slots of the ring and there is no staging.

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
