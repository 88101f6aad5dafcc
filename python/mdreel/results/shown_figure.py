"""Figures that are shown by pyplot, and small pictures of figures."""

import io
import sys
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from mdreel.foundation.session import is_interactive
from mdreel.results.style import STYLE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LARGEST_PICTURE = 22_000
"""Size limit for a picture in bytes, which corresponds to 30 kB when the picture is encoded in HTML."""

_RESOLUTIONS = (56, 44, 32)  # dots per inch, the first that keeps the limit is taken
_N_COLOURS = 32


def adopt_into_pyplot(figure: "Figure") -> None:
    """Let ``plt.show()`` and notebooks show a figure if the session uses pyplot.

    Pyplot keeps its figures until they are closed, and it can open windows. If a script does not import pyplot, its
    figures are therefore not added to pyplot, and are deleted when there are no more references to them.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        A figure that is not managed by pyplot. It remains the same object.
    """
    if "matplotlib.pyplot" not in sys.modules and not is_interactive():
        return
    from matplotlib import pyplot

    make: Callable[..., Figure] = lambda *_, **__: figure  # noqa: E731 (mypy needs the type)
    pyplot.figure(FigureClass=make)  # type: ignore[arg-type]  # pyplot only calls it
    show_once: Any = partial(_release_before_display, figure)
    figure._ipython_display_ = show_once  # type: ignore[attr-defined]


def _release_before_display(figure: "Figure") -> None:
    """Remove a figure from pyplot before a notebook displays it.

    The inline backend displays pyplot's figures at the end of a cell. A figure that is also the value of the cell would
    otherwise appear twice.
    """
    from matplotlib import get_backend, pyplot

    if "inline" in get_backend().lower():
        pyplot.close(figure)
    raise NotImplementedError("IPython then displays the figure with its next formatter")


def picture_of(figure: "Figure") -> bytes | None:
    """Return a small picture of a figure.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        The figure.

    Returns
    -------
    bytes or None
        The picture in PNG format, with at most `LARGEST_PICTURE` bytes, or None if it is too large at any resolution.
    """
    import matplotlib
    from PIL import Image  # Matplotlib requires it

    for resolution in _RESOLUTIONS:
        file = io.BytesIO()
        with matplotlib.rc_context(STYLE):
            figure.savefig(file, format="png", dpi=resolution)
        if file.tell() <= LARGEST_PICTURE:
            return file.getvalue()
    # Figures with many labels are small enough with fewer colours.
    fewer = io.BytesIO()
    with Image.open(file) as image:
        image.convert("RGB").quantize(_N_COLOURS).save(fewer, format="png", optimize=True)
    return fewer.getvalue() if fewer.tell() <= LARGEST_PICTURE else None
