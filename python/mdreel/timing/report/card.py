"""Cards of the report page."""

from mdreel.foundation.html.markup import Markup, element


def card(name: str, heading: str, *content: Markup, lead: str = "", note: str = "") -> Markup:
    """Return a section of the page.

    Parameters
    ----------
    name : str
        ID of the section, for links and tests.
    heading : str
        Heading.
    *content : Markup
        Figures and tables. If there are none, `note` explains the reason.
    lead : str
        Main result, which is shown above the content.
    note : str
        Explanation, which is shown below the content.
    """
    parts = [element("h2", heading)]
    if lead:
        parts.append(element("p", lead, class_="lead"))
    parts.extend(content)
    if note:
        parts.append(element("p", note, class_="note"))
    return element("section", *parts, class_="card", id_=name)
