"""Pictures embedded in pages."""

import base64
from dataclasses import dataclass
from typing import Literal

from mdreel.foundation.html.markup import Markup, element, together

NARROW_PIXELS = 760
"""Width of a screen, in pixels, up to which a page shows the narrow variant of a picture."""


@dataclass(frozen=True)
class Picture:
    """A picture in two shapes.

    Attributes
    ----------
    media_type : {"image/svg+xml", "image/png"}
        Format of both.
    wide, narrow : bytes
        The picture for a wide screen, and for a phone.
    """

    media_type: Literal["image/svg+xml", "image/png"]
    wide: bytes
    narrow: bytes


def image(picture: Picture, alt: str) -> Markup:
    """Return the element of a picture, which contains the data.

    Browsers show the SVG of an ``img`` element without running scripts in it and without loading anything.

    Parameters
    ----------
    picture : Picture
        The picture.
    alt : str
        Text for screen readers.
    """
    wide, narrow = (_address(picture.media_type, data) for data in (picture.wide, picture.narrow))
    source = _alone(element("source", media=f"(max-width: {NARROW_PIXELS}px)", srcset=narrow))
    return element("picture", together(source, _alone(element("img", src=wide, alt=alt))))


def _address(media_type: str, data: bytes) -> str:
    return f"data:{media_type};base64,{base64.b64encode(data).decode()}"


def _alone(markup: Markup) -> Markup:
    """Remove the end tag, which elements without content do not have."""
    return Markup(markup[: markup.rindex("</")])
