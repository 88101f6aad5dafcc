"""Links that leave the folder of the documentation, and pages that are files of the repository.

People also read the sources of the site in the repository, so their links are relative paths. On the site, a link to a
file that is also a page leads to that page. A link to another file leads to the repository if ``pyproject.toml`` names
its address; otherwise the site holds a copy of the file.
"""

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

_DOCS = Path(__file__).resolve().parent.parent
_ROOT = _DOCS.parent
_FENCE = re.compile(r"^(?:```|~~~).*?^(?:```|~~~)[ \t]*$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(\]\()([^)\s#]+)(#[^)\s]*)?(\))")
_INCLUDE = re.compile(r"(# .+\n\n)?```\{include\} (\S+)\n```")
_TITLE = re.compile(r"\A# .+\n+")
PAGES = {
    "README.md": "index.md",
    "README.md#speed": "performance/speed.md",
    "ARCHITECTURE.md": "contributing/architecture.md",
    "CHANGELOG.md": "contributing/changelog.md",
    "CONTRIBUTING.md": "contributing/guide.md",
    "lab/benchmarks/README.md": "performance/method.md",
    "lab/benchmarks/results/analyses.md": "performance/analyses.md",
    "lab/benchmarks/results/channels.md": "performance/channels.md",
    "lab/benchmarks/results/executors.md": "performance/executors.md",
    "lab/benchmarks/results/formats.md": "performance/formats.md",
    "lab/benchmarks/results/pairs.md": "performance/pairs.md",
    "lab/benchmarks/results/table.md": "performance/speed.md",
    "lab/validation/agreement.md": "explanation/agreement.md",
}
"""The page of each file of the repository that is a page, and of places in such files."""


def _outside_code(text: str, change: Callable[[str], str]) -> str:
    """Change the text between the fenced blocks of code."""
    parts: list[str] = []
    end = 0
    for fence in _FENCE.finditer(text):
        parts += [change(text[end : fence.start()]), fence[0]]
        end = fence.end()
    return "".join([*parts, change(text[end:])])


def _link_from(page: Path, written_in: Path, target: str, anchor: str, repository: str) -> str:
    """Return what a link of a file must be on a page of the site; it is empty if the site cannot show the target."""
    path = Path(os.path.normpath(written_in / target))
    name = path.relative_to(_ROOT).as_posix() if path.is_relative_to(_ROOT) else ""
    if not name or not path.exists():
        return target + anchor  # the parser reports it
    if name + anchor in PAGES:
        return os.path.relpath(_DOCS / PAGES[name + anchor], page)
    if name == "README.md":
        anchor = ""  # the first page of the site is another one
    if name in PAGES:
        path = _DOCS / PAGES[name]
    elif path.is_dir() and (path / "index.md").exists() and path.is_relative_to(_DOCS):
        path /= "index.md"
    elif repository and not path.is_relative_to(_DOCS):
        return f"{repository}/{'tree' if path.is_dir() else 'blob'}/main/{name}{anchor}"
    elif path.is_dir():
        return ""
    return os.path.relpath(path, page) + anchor


def _rewrite(text: str, page: Path, written_in: Path, repository: str) -> str:
    """Rewrite the links of a text that is written in one folder and shown in another."""

    def link(found: re.Match[str]) -> str:
        if "://" in found[2] or found[2].startswith("mailto:"):
            return found[0]
        target = _link_from(page, written_in, found[2], found[3] or "", repository)
        return f"{found[1]}{target}{found[4]}" if target else found[0]

    return _outside_code(text, lambda part: _LINK.sub(link, part))


def _read_source(app: Sphinx, name: str, source: list[str]) -> None:
    """Include files of the repository, and rewrite links."""
    page = (_DOCS / name).parent
    repository = str(app.config.repository_url)
    if Path(app.env.doc2path(name)).suffix != ".md":
        return
    included = _INCLUDE.fullmatch(source[0].strip())
    if included is None:
        source[0] = _rewrite(source[0], page, page, repository)
    else:
        file = (page / included[2]).resolve()
        app.env.note_dependency(str(file), docname=name)
        text = _rewrite(file.read_text(encoding="utf-8"), page, file.parent, repository)
        # A page can have a different title than the file.
        source[0] = included[1] + _TITLE.sub("", text) if included[1] else text


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.add_config_value("repository_url", "", "env", [str])
    app.connect("source-read", _read_source)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
