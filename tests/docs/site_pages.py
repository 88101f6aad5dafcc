"""What the HTML pages of a site hold: places that links can lead to, links, and files that a page loads."""

from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


@dataclass
class Page(HTMLParser):
    """The links and anchors of a page.

    Attributes
    ----------
    path : Path
        The file.
    anchors : set of str
        Places of the page that a link can name.
    links : list of str
        Targets of its links, images, scripts and style sheets.
    loaded : list of str
        What a browser loads with the page.
    """

    path: Path
    anchors: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(self.path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag says."""
        values = dict(attrs)
        self.anchors |= {value for name in ("id", "name") if (value := values.get(name))}
        target = values.get("href") if tag in ("a", "link") else values.get("src")
        if not target or target.startswith("data:"):
            return
        self.links.append(target)
        if tag in ("img", "script", "iframe") or (tag == "link" and values.get("rel") == "stylesheet"):
            self.loaded.append(target)


def is_external(target: str) -> bool:
    """Whether a link leads out of the site."""
    return bool(urlsplit(target).scheme or urlsplit(target).netloc)


def broken_links(pages: dict[Path, Page]) -> list[str]:
    """Return the links of the pages to files or anchors that do not exist."""
    found = []
    for page in pages.values():
        for target in page.links:
            if is_external(target):
                continue
            parts = urlsplit(target)
            path = (page.path.parent / unquote(parts.path)).resolve() if parts.path else page.path
            anchor = unquote(parts.fragment)
            is_there = path.is_file() and (not anchor or path not in pages or anchor in pages[path].anchors)
            if not is_there:
                found.append(f"{page.path.name}: {target}")
    return found
