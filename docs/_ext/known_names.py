"""Links to the documentation of other projects, from lists of the names that ours mentions.

Each list of ``names`` becomes an inventory of intersphinx, so that building the site needs no network. The first line
of a list is the address of the project. Each other line has the kind of its names, their page, and the names. In the
page, ``$`` stands for the name.
"""

import zlib
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config

_LISTS = Path(__file__).resolve().parent / "names"


def _inventory(project: str, lines: list[str]) -> bytes:
    """Return an inventory in the format of Sphinx."""
    head = f"# Sphinx inventory version 2\n# Project: {project}\n# Version: \n"
    head += "# The remainder of this file is compressed using zlib.\n"
    rows = []
    for line in lines:
        role, page, *names = line.split()
        rows += [f"{name} {role} 1 {page.replace('$', name)} -\n" for name in names]
    return head.encode() + zlib.compress("".join(rows).encode())


def _write_inventories(app: Sphinx, config: Config) -> None:
    folder = Path(app.doctreedir, "inventories")
    folder.mkdir(parents=True, exist_ok=True)
    mapping = {}
    for path in sorted(_LISTS.glob("*.txt")):
        address, *lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line]
        inventory = folder / f"{path.stem}.inv"
        inventory.write_bytes(_inventory(path.stem, lines))
        mapping[path.stem] = (address, str(inventory))
    config.intersphinx_mapping = mapping


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.connect("config-inited", _write_inventories, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
