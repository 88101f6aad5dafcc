"""Channels, engines and other tools for working with running simulations.

A simulation publishes its frames on a channel in shared memory, with a `Producer` or with a reporter for its engine.
You can pass the channel to an analysis as its trajectory, or use a `Consumer` to receive the frames one by one.

Examples
--------
>>> import numpy as np
>>> import mdreel
>>> with mdreel.live.Producer("run1", n_atoms=3) as producer:
...     for step in range(10):
...         published = producer.publish(np.zeros((3, 3), np.float32), step, 0.002 * step)
>>> mdreel.read(mdreel.live.channel("run1")).positions.shape
(10, 3, 3)
"""

from typing import Any

import lazy_loader

from mdreel.foundation.submodules import submodule

_get, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    return _get(name) if name in __all__ else submodule(__name__, name)
