"""Cards of the report page."""

from mdreel.foundation.html.markup import Markup, element


def card(name: str, heading: str, *content: Markup, lead: str = "", note: str = "") -> Markup:
    """Return a part of the page.

    Parameters
    ----------
    name : str
        By which links and tests find it.
    heading : str
        What is above it.
    *content : Markup
        What it shows; with nothing to show, `note` says why.
    lead : str
        What can be seen in it.
    note : str
        What one must know to read it.
    """
    parts = [element("h2", heading)]
    if lead:
        parts.append(element("p", lead, class_="lead"))
    parts.extend(content)
    if note:
        parts.append(element("p", note, class_="note"))
    return element("section", *parts, class_="card", id_=name)
