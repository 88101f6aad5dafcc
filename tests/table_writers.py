"""The formats of tables whose packages are installed here."""

from importlib.util import find_spec

import pytest

from mdreel.results.files import PACKAGES, WRITERS

MISSING = {ending: package for ending, (package, _) in PACKAGES.items() if find_spec(package) is None}
"""Packages that are not installed, by the ending that needs them."""

INSTALLED = [ending for ending in WRITERS if ending not in MISSING]
"""Endings of tables that can be written."""

ENDINGS = [
    pytest.param(
        ending, marks=pytest.mark.skipif(ending in MISSING, reason=f"needs {MISSING.get(ending, 'nothing else')}")
    )
    for ending in WRITERS
]
"""All endings of tables, as parameters of a test; those that need a missing package are skipped, which names it."""
