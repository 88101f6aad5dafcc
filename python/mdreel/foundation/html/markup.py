"""HTML and SVG elements with escaped text."""

from collections.abc import Iterable
from html import escape

_UNPRINTABLE = dict.fromkeys((*range(9), 11, 12, *range(14, 32), 127), "\ufffd")


class Markup(str):
    """Text that is markup already; any other text is escaped where it enters an element."""

    __slots__ = ()


def element(name: str, /, *children: str, **attributes: str | float | None) -> Markup:
    """Return an element.

    Parameters
    ----------
    name : str
        Its name.
    *children : str
        What is in it: `Markup` as it is, other text escaped.
    **attributes : str, float or None
        Its attributes: underscores stand for hyphens, one at the end for nothing; None leaves an attribute out.
    """
    said = "".join(_attribute(key, value) for key, value in attributes.items() if value is not None)
    return Markup(f"<{name}{said}>{together(*children)}</{name}>")


def together(*parts: str) -> Markup:
    """Return parts one after the other; those that are not markup are escaped."""
    return Markup("".join(part if isinstance(part, Markup) else _escaped(part) for part in parts))


def table(head: Iterable[str], rows: Iterable[Iterable[str]], class_: str | None = None) -> Markup:
    """Return a table.

    Parameters
    ----------
    head : iterable of str
        What its columns are called.
    rows : iterable of iterable of str
        Its cells; the first of a row heads it.
    class_ : str, optional
        Its class.
    """
    heading = element("tr", *(element("th", name, scope="col") for name in head))
    body = (_row(*cells) for cells in rows)
    return element("table", element("thead", heading), element("tbody", *body), class_=class_)


def _row(first: str, *rest: str) -> Markup:
    return element("tr", element("th", first, scope="row"), *(element("td", cell) for cell in rest))


def _attribute(key: str, value: str | float) -> str:
    text = f"{value:.7g}" if isinstance(value, float) else str(value)
    return f' {key.removesuffix("_").replace("_", "-")}="{_escaped(text)}"'


def _escaped(text: str) -> str:
    return escape(text.translate(_UNPRINTABLE))
