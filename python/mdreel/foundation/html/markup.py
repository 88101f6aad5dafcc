"""HTML and SVG elements with escaped text."""

from collections.abc import Iterable, Sequence
from html import escape

_UNPRINTABLE = dict.fromkeys((*range(9), 11, 12, *range(14, 32), 127), "\ufffd")


class Markup(str):
    """Text that is already markup. Elements escape all other text."""

    __slots__ = ()


def element(name: str, /, *children: str, **attributes: str | float | None) -> Markup:
    """Return an element.

    Parameters
    ----------
    name : str
        Name of the element.
    *children : str
        Content of the element. `Markup` is inserted unchanged, and other text is escaped.
    **attributes : str, float or None
        Attributes of the element. Underscores in their names are replaced by hyphens, and a trailing underscore is
        removed. If a value is None, the attribute is omitted.
    """
    said = "".join(_attribute(key, value) for key, value in attributes.items() if value is not None)
    return Markup(f"<{name}{said}>{together(*children)}</{name}>")


def together(*parts: str) -> Markup:
    """Concatenate parts, and escape any part that is not markup."""
    return Markup("".join(part if isinstance(part, Markup) else _escaped(part) for part in parts))


def joined(separator: str, parts: Iterable[str]) -> Markup:
    """Concatenate parts with a separator, and escape any part that is not markup."""
    return Markup(together(separator).join(together(part) for part in parts))


def table(
    head: Iterable[str], rows: Iterable[Iterable[str]], class_: str | None = None, labels: Sequence[str] = ()
) -> Markup:
    """Return a table.

    Parameters
    ----------
    head : iterable of str
        Names of the columns.
    rows : iterable of iterable of str
        Cells of each row. The first cell is the heading of the row.
    class_ : str, optional
        CSS class of the table.
    labels : sequence of str
        Names of the columns, which are repeated within the cells (class ``label``). They are needed by styles that show
        the cells below each other.
    """
    heading = element("tr", *(element("th", name, scope="col") for name in head))
    body = (_row(tuple(cells), labels) for cells in rows)
    return element("table", element("thead", heading), element("tbody", *body), class_=class_)


def _row(cells: Sequence[str], labels: Sequence[str]) -> Markup:
    named = labels or [""] * len(cells)
    first, *rest = zip(cells, named, strict=True)
    return element("tr", element("th", first[0], scope="row"), *(_cell(text, label) for text, label in rest))


def _cell(text: str, label: str) -> Markup:
    named = [element("span", label, ": ", class_="label")] if label and text else []
    return element("td", *named, text)


def _attribute(key: str, value: str | float) -> str:
    text = f"{value:.7g}" if isinstance(value, float) else str(value)
    return f' {key.removesuffix("_").replace("_", "-")}="{_escaped(text)}"'


def _escaped(text: str) -> str:
    return escape(text.translate(_UNPRINTABLE))
