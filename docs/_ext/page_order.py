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
    def kept(tree: re.Match[str]) -> str:
        pages = app.env.found_docs - {name}
        lines = []
        for line in tree[0].splitlines():
            pattern = normpath(join(dirname(name), line))
            # In a pattern of Sphinx, a star does not stand for a slash.
            found = {page for page in pages if fnmatchcase(page, pattern) and dirname(page) == dirname(pattern)}
            pages -= found  # a page is listed once
            if found or "*" not in line:
                lines.append(line)
        return "\n".join(lines)

    source[0] = _GLOB_TOCTREE.sub(kept, source[0])


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.connect("source-read", _keep_patterns_with_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
