"""HTML page of the watcher, which includes its style sheet and its script."""

import base64
import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from mdreel.foundation.html.markup import Markup, element, together
from mdreel.foundation.html.palette import stylesheet

_SCRIPTS = ("chart.js", "operate.js", "alerts.js", "molecule.js", "compare.js", "page.js")
_VIEWER = "third_party/3Dmol-min.js"
"""The library 3Dmol.js, version 2.5.5, which draws molecules with WebGL. Its licence lies beside it."""


@dataclass(frozen=True)
class Page:
    """HTML page, with its content security policy.

    Attributes
    ----------
    content : bytes
        The HTML page.
    policy : str
        Content security policy. It allows only the script and the style sheet of the page, the library for 3-D views,
        and requests to its own server. In this way, the names of channels, columns and rules cannot inject anything.
    """

    content: bytes
    policy: str


@cache
def page(interval: float) -> Page:
    """Return the page, which is updated at regular intervals (in s)."""
    folder = Path(__file__).parent
    style = stylesheet() + (folder / "page.css").read_text(encoding="utf-8")
    script = "".join((folder / name).read_text(encoding="utf-8") for name in _SCRIPTS)
    main = element(
        "main",
        element(
            "header",
            element("p", "mdreel watch", class_="when"),
            element("h1", "Channels", id_="title"),
            element("p", "…", id_="said", class_="lead", role="status"),
        ),
        element("div", id_="channels"),
    )
    said = together(
        Markup('<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'),
        Markup('<meta name="viewport" content="width=device-width, initial-scale=1">\n'),
        Markup('<meta name="color-scheme" content="light dark">\n<link rel="icon" href="data:,">\n'),
        element("title", "mdreel watch"),
        element("style", Markup(style)),
        Markup("\n</head>\n"),
        element("body", main, element("script", Markup(script)), data_interval=1000.0 * interval),
        Markup("\n</html>\n"),
    )
    scripts = f"{_hash(script.encode())} {_hash(viewer_script())}"
    allowed = {"script-src": scripts, "style-src": _hash(style.encode()), "connect-src": "'self'", "img-src": "data:"}
    nothing = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    policy = "; ".join([nothing, *(f"{name} {value}" for name, value in allowed.items())])
    return Page(str(said).encode(), policy)


def viewer_script() -> bytes:
    """Read the library that draws molecules. The page inserts it as a script when a 3-D view is opened."""
    return (Path(__file__).parent / _VIEWER).read_bytes()


def _hash(content: bytes) -> str:
    """Return the hash of a script or a style sheet for the policy."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(content).digest()).decode()}'"
