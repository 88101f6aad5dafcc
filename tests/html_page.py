"""A page of HTML as tests look at it: whether it is well formed, and what is in it."""

import json
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

_ALONE = {"meta", "br", "hr", "img", "link", "input", "source"}


class Page(HTMLParser):
    """A page.

    Parameters
    ----------
    text : str
        Its HTML. An element that is closed at the wrong place, or never, is an AssertionError.

    Attributes
    ----------
    elements : list of tuple of str and dict
        Names and attributes of all elements, in their order.
    said : str
        All text, without styles and scripts.
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.said = ""
        self._open: list[str] = []
        self.text = text
        self.feed(text)
        self.close()
        assert not self._open, f"never closed: {self._open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs), f"an attribute twice in <{tag}>"
        self.elements.append((tag, dict(attrs)))
        if tag not in _ALONE:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open, f"</{tag}> closes nothing"
        assert self._open.pop() == tag, f"</{tag}> at the wrong place"

    def handle_data(self, data: str) -> None:
        if not {"style", "script"} & set(self._open):
            self.said += data

    def part(self, name: str) -> str:
        """The HTML of a card."""
        found = re.search(rf'<section class="card" id="{name}">.*?</section>', self.text, re.DOTALL)
        assert found is not None, f"there is no card {name}"
        return found[0]

    def drawings(self, name: str) -> list[ElementTree.Element]:
        """The drawings of a card, which must be XML besides."""
        return [ElementTree.fromstring(text) for text in _drawings(self.part(name))]

    def tips(self, name: str) -> list[list[str]]:
        """What is said in the plots of a card where they are pointed at."""
        plots = [attributes for tag, attributes in Page(self.part(name)).elements if "data-tips" in attributes]
        return [json.loads(attributes["data-tips"] or "") for attributes in plots]

    def rectangles(self, name: str) -> dict[str, list[tuple[int, int, int, int]]]:
        """The rectangles (left, right, top, bottom) of each path of a card, by its class."""
        found: dict[str, list[tuple[int, int, int, int]]] = {}
        for drawing in self.drawings(name):
            for path in drawing.iter("path"):
                data = re.findall(r"M(\d+) (\d+)H(\d+)V(\d+)H(\d+)z", path.get("d") or "")
                assert all(edges[0] == edges[4] for edges in data), "a rectangle ends where it began"
                of = found.setdefault(path.get("class") or "", [])
                of.extend((int(left), int(right), int(top), int(bottom)) for left, top, right, bottom, _ in data)
        return found


def _drawings(text: str) -> list[str]:
    """The outermost SVG elements."""
    found, depth, begin = [], 0, 0
    for tag in re.finditer(r"<svg\b|</svg>", text):
        if tag[0] == "<svg":
            begin = begin if depth else tag.start()
            depth += 1
        else:
            depth -= 1
            if depth == 0:
                found.append(text[begin : tag.end()])
    return found
