"""Workers of executors that start without the time of their imports."""

import multiprocessing.spawn
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from forked_python.command import fork_server, forked_python
from mdreel.execution.executors.local import processes


@contextmanager
def forked_workers() -> Iterator[None]:
    """Have the fork server start the workers of our processes, of Dask and of `multiprocessing`."""
    interpreter = multiprocessing.spawn.get_executable()
    stand_in = SimpleNamespace(executable=forked_python(), path=sys.path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(processes, "sys", stand_in)
        multiprocessing.set_executable(forked_python())
        yield
        multiprocessing.set_executable(interpreter)
    assert fork_server(sys.executable).process.poll() is None, "the server of forked processes has ended"
