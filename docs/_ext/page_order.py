"""Patterns in tables of contents that only order pages.

A section lists its pages by patterns, such as ``install*`` in front of ``*``. Sphinx warns of a pattern without a page;
this extension removes such a pattern first.
"""

import re
from fnmatch import fnmatchcase
from posixpath import dirname, join, normpath
from typing import Any

from sphinx.application import Sphinx

_GLOB_TOCTREE = re.compile(r"^```\{toctree\}\n(?:(?!```).*\n)*?:glob:\n(?:(?!```).*\n)*```$", re.MULTILINE)


def _keep_patterns_with_pages(app: Sphinx, name: str, source: list[str]) -> None:
    pages = app.env.found_docs - {name}

    def has_pages(line: str) -> bool:
        pattern = normpath(join(dirname(name), line))
        return any(fnmatchcase(page, pattern) and dirname(page) == dirname(pattern) for page in pages)

    def kept(tree: re.Match[str]) -> str:
        lines = tree[0].splitlines()
        return "\n".join(line for line in lines if "*" not in line or has_pages(line))

    source[0] = _GLOB_TOCTREE.sub(kept, source[0])


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.connect("source-read", _keep_patterns_with_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
