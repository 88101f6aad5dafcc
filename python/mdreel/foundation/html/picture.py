"""Pictures embedded in pages."""

import base64
from dataclasses import dataclass
from typing import Literal

from mdreel.foundation.html.markup import Markup, element, together

NARROW_PIXELS = 760
"""Screen width, in pixels, up to which a page shows the narrow variant of a picture."""


@dataclass(frozen=True)
class Picture:
    """A picture in a wide and a narrow variant.

    Attributes
    ----------
    media_type : {"image/svg+xml", "image/png"}
        Format of both variants.
    wide, narrow : bytes
        The variants for a wide screen and for a phone.
    """

    media_type: Literal["image/svg+xml", "image/png"]
    wide: bytes
    narrow: bytes


def image(picture: Picture, alt: str) -> Markup:
    """Return the element for a picture, with the data embedded in it.

    If an SVG picture is in an ``img`` element, browsers do not run its scripts and do not load other files.

    Parameters
    ----------
    picture : Picture
        The picture.
    alt : str
        Alternative text for screen readers.
    """
    wide, narrow = (_address(picture.media_type, data) for data in (picture.wide, picture.narrow))
    source = _alone(element("source", media=f"(max-width: {NARROW_PIXELS}px)", srcset=narrow))
    return element("picture", together(source, _alone(element("img", src=wide, alt=alt))))


def _address(media_type: str, data: bytes) -> str:
    return f"data:{media_type};base64,{base64.b64encode(data).decode()}"


def _alone(markup: Markup) -> Markup:
    """Remove the end tag, which is not allowed for elements without content."""
    return Markup(markup[: markup.rindex("</")])
