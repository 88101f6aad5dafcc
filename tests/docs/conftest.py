"""The documentation site, built once for all tests."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from architecture.checkout import ROOT

NEEDED = ("sphinx", "myst_nb", "numpydoc", "pydata_sphinx_theme", "sphinx_copybutton", "sphinx_design", "latex2mathml")


@pytest.fixture(scope="session")
def extensions() -> None:
    """Make the extensions of the site importable, if what they import is installed."""
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"needs {', '.join(missing)} (the extra docs)")
    folder = str(ROOT / "docs" / "_ext")
    if folder not in sys.path:
        sys.path.insert(0, folder)


@pytest.fixture(scope="session")
def site(extensions: None) -> Path:
    """The folder of the built site."""
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    from tasks.docs import SITE, site_command

    answer = subprocess.run([str(word) for word in site_command(sys.executable)], capture_output=True, text=True)
    assert answer.returncode == 0, f"the site was not built:\n{answer.stdout[-2000:]}\n{answer.stderr[-6000:]}"
    return SITE
