"""Pictures of figures for web pages."""

import io
from typing import TYPE_CHECKING, Literal

from mdreel.foundation.html.picture import Picture
from mdreel.results.style import GRID, INK, STYLE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LARGEST_SVG = 400_000
"""Size limit for an SVG in bytes. Figures with more detail are converted to PNG."""

_NARROW = (6.0, 4.4)  # inches; on a phone, text of this size is as large as the text of the page
_RESOLUTION = 110  # dots per inch
# The same figure gives the same bytes: no date, and identifiers that do not depend on chance.
_SETTINGS = {**STYLE, "svg.hashsalt": "mdreel"}

# Only lines, ticks and texts change; data keep their colours, which a colour bar may explain.
_DARK_INKS = {INK: "#e8eaed", "#000000": "#e8eaed", GRID: "#343a43"}
_DARK_RULES = "".join(
    f'[style*="{name}: {ink.lower()}"]{{{name}:{light}!important}}'
    for ink, light in _DARK_INKS.items()
    for name in ("fill", "stroke")
)
_DARK_STYLE = f"<style>@media screen and (prefers-color-scheme:dark){{{_DARK_RULES}}}</style>"


def page_picture(figure: "Figure") -> Picture:
    """Return a figure as a picture for a light or dark web page.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        The figure. This function changes its size.
    """
    width, height = (float(length) for length in figure.get_size_inches())
    is_flat = width / height > _NARROW[0] / _NARROW[1]
    narrow = (_NARROW[0], _NARROW[1] if is_flat else _NARROW[0] * height / width)
    shapes = ((width, height), narrow)
    drawn = [_saved(figure, shape, "svg") for shape in shapes]
    if max(map(len, drawn)) <= LARGEST_SVG:
        return Picture("image/svg+xml", *map(_for_both_schemes, drawn))
    return Picture("image/png", *[_saved(figure, shape, "png") for shape in shapes])


def _saved(figure: "Figure", shape: tuple[float, float], format_: Literal["svg", "png"]) -> bytes:
    import matplotlib

    file = io.BytesIO()
    is_svg = format_ == "svg"
    metadata = dict.fromkeys(("Creator", "Date", "Format", "Type")) if is_svg else {"Software": None}
    with matplotlib.rc_context(_SETTINGS):
        figure.set_size_inches(*shape)
        figure.savefig(file, format=format_, dpi=_RESOLUTION, transparent=is_svg, metadata=metadata)
    return file.getvalue()


def _for_both_schemes(svg: bytes) -> bytes:
    """Return an SVG with light lines and text on dark pages, and without its document type, which contains a URL."""
    begin = svg.index(b"<svg")
    inside = svg.index(b">", begin) + 1
    return svg[begin:inside] + _DARK_STYLE.encode() + svg[inside:]
