"""Page colours in light and dark mode."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mdreel.foundation.html.markup import Markup


@dataclass(frozen=True)
class Colour:
    """A colour.

    Attributes
    ----------
    light, dark : str
        Values for light and dark pages, as ``#rrggbb``.
    """

    light: str
    dark: str


# Open, read, decompress, compute and communicate are close to those of Okabe and Ito, "Color Universal Design" (2008).
# All colours were chosen so that people with any colour vision deficiency can distinguish those of a figure.
COLOURS: Mapping[str, Colour] = {
    "open": Colour("#E8A110", "#E79F00"),
    "read": Colour("#0072B2", "#3B7EBF"),
    "decompress": Colour("#56B4E9", "#79C8F2"),
    "compute": Colour("#139E71", "#09A97F"),
    "wait": Colour("#D3D8DF", "#464B51"),
    "reduce": Colour("#36258C", "#8C79F7"),
    "write": Colour("#871C4D", "#B6497D"),
    "communicate": Colour("#CD7EAA", "#C48FBE"),
    "topology": Colour("#989011", "#E1C76A"),
    "end of loop": Colour("#714635", "#BB7E3A"),
    "overheads": Colour("#6B7077", "#747980"),
}
"""Colours for the kinds of spans, and for the other parts of a rank's time."""


def class_of(kind: str) -> str:
    """Return the CSS class for elements in the colour of a kind."""
    return kind.replace(" ", "-")


def stylesheet() -> Markup:
    """Return the style sheet that all pages share.

    The style sheet sets the colour of each class. While the pointer or the keyboard focus is on the name of a class in
    a legend, all other classes are dimmed. All other styles are in ``base.css``.
    """
    light = "".join(f"--{class_of(kind)}:{colour.light};" for kind, colour in COLOURS.items())
    dark = "".join(f"--{class_of(kind)}:{colour.dark};" for kind, colour in COLOURS.items())
    rules = [f":root{{{light}}}", f"@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}"]
    for kind in map(class_of, COLOURS):
        rules.append(f".{kind}{{--paint:var(--{kind})}}")
        rules.append(f".card:has(.key.{kind}:is(:hover,:focus-within)) .layer path:not(.{kind}){{opacity:.12}}")
    return Markup("\n".join(rules) + Path(__file__).with_name("base.css").read_text(encoding="utf-8"))
