"""Fixtures with tables for the tests of writers."""

import numpy as np
import pytest

from mdreel.results.column import Column


@pytest.fixture
def columns() -> list[Column]:
    """Return columns that need full precision, including the smallest and the largest float64."""
    random = np.random.default_rng(20261121)
    values = random.uniform(0, 10, 1000) / 3
    values[:4] = 0.1, 5e-324, np.finfo(np.float64).max, 1e22
    time = np.arange(1000) * 0.9999999119
    return [Column("frame", "", np.arange(1000)), Column("time", "ps", time), Column("rmsd", "Å", values)]


@pytest.fixture
def metadata() -> dict[str, str | int | bool]:
    """Return text with quotes and non-ASCII characters."""
    return {"title": "RMSD", "selection": 'name "CA"\nand resid 1:5 \\ Å', "n_atoms": 214, "superposition": True}
