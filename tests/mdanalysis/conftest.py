"""Readers of MDAnalysis that are ours while a test runs."""

from collections.abc import Iterator

import pytest

import mdreel


@pytest.fixture
def accelerated() -> Iterator[None]:
    with mdreel.mdanalysis.accelerate():
        yield
