"""Legends of the figures on the report page."""

from collections.abc import Iterable

from mdreel.foundation.html.markup import Markup, element
from mdreel.foundation.html.palette import class_of
from mdreel.timing.report.term import term


def legend(kinds: Iterable[str], *marks: Markup) -> Markup:
    """Return the legend of a figure.

    Parameters
    ----------
    kinds : iterable of str
        Kinds of time in the figure, in the order of the legend.
    *marks : Markup
        Additional keys of the legend; see `key`.
    """
    return element("ul", *[key(class_of(kind), term(kind)) for kind in kinds], *marks, class_="legend")


def key(class_: str, name: str, said: str = "") -> Markup:
    """Return a colour swatch for a class, with its name and an amount."""
    amount = [" ", element("b", said)] if said else []
    return element("li", element("i"), element("span", name, *amount), class_=f"key {class_}")
