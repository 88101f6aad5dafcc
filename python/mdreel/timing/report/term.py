"""Terms on the report page, whose definitions appear on hover, focus and tap."""

from mdreel.foundation.html.markup import Markup, element
from mdreel.timing.report.card import card
from mdreel.timing.terms import TERMS


def term(name: str, text: str = "") -> Markup:
    """Return a term that the reader can point at, tap, or focus with the keyboard.

    Parameters
    ----------
    name : str
        One of `TERMS`.
    text : str
        Form of the term that is used in the sentence. By default, the name of the term.
    """
    return element("button", text or name, type="button", class_="term", aria_describedby=_id(name))


def terms_table() -> Markup:
    """List all terms with their definitions, which the script of the page uses for its texts."""
    entries = [
        part
        for name, definition in TERMS.items()
        for part in (element("dt", name), element("dd", definition, id_=_id(name)))
    ]
    listed = element("details", element("summary", f"{len(TERMS)} terms"), element("dl", *entries))
    return card("terms", "Terms", listed)


def _id(name: str) -> str:
    assert name in TERMS, name
    return "term-" + "".join(letter if letter.isalnum() else "-" for letter in name)
