"""Gallery of pictures, made by the scripts of ``docs/gallery`` when the site is built.

Each script draws one picture and saves it as ``NAME.png``. The first line of its docstring is the title, the rest says
what the picture shows. The directive ``gallery`` draws a grid of thumbnails of the scripts that it names; each links to
a page with the picture and the code.
"""

import ast
import contextlib
import hashlib
import runpy
import tempfile
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib import pyplot
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

import mdreel
from mdreel.errors import MdreelWarning

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx
    from sphinx.config import Config

FOLDER = "gallery"
PAGES = "pages"
"""Folder of the generated pages and pictures, below `FOLDER`."""

SETTINGS: Any = {"backend": "agg", "savefig.dpi": 100, "figure.dpi": 100}

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Entry:
    """One script of the gallery.

    Attributes
    ----------
    name : str
        Name of the script without its ending.
    title, description : str
        First line and rest of the docstring, in MyST Markdown.
    code : str
        The script without its docstring.
    """

    name: str
    title: str
    description: str
    code: str

    @classmethod
    def read(cls, path: Path) -> "Entry":
        """Read a script.

        Raises
        ------
        ValueError
            If the script has no docstring.
        """
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text, path.name)
        docstring = ast.get_docstring(tree)
        if docstring is None:
            raise ValueError(f"{path}: expected a docstring with the title of the picture")
        title, _, description = docstring.partition("\n")
        code = "".join(text.splitlines(keepends=True)[tree.body[0].end_lineno or 0 :]).strip() + "\n"
        return cls(path.stem, title.strip().rstrip("."), description.strip(), code)

    def page(self) -> str:
        """Return the page with the picture and the code, in MyST Markdown."""
        picture = f"![{self.title}]({self.name}.png)"
        return f"# {self.title}\n\n{self.description}\n\n{picture}\n\n```python\n{self.code}```\n"

    def card(self) -> str:
        """Return the thumbnail with its link, in MyST Markdown."""
        page = f"{PAGES}/{self.name}"
        options = [f":img-top: {page}.png", f":img-alt: {self.title}", ":class-img-top: gallery-picture"]
        links = [f":link: {page}", ":link-type: doc", ":text-align: center"]
        return "\n".join([f"````{{grid-item-card}} {self.title}", *options, *links, "````\n"])


def entries(folder: Path) -> list[Entry]:
    """Return the entries of a folder, in the order of their names."""
    return [Entry.read(path) for path in sorted(folder.glob("*.py"))]


def draw(script: Path, picture: Path) -> None:
    """Run a script in an empty working directory, and move its picture to `picture`.

    Raises
    ------
    FileNotFoundError
        If the script does not save its picture as ``NAME.png``.
    MdreelWarning
        If mdreel warns: an example must not do what mdreel warns about.
    """
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.chdir(folder),
        mpl.rc_context(SETTINGS),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", MdreelWarning)
        pyplot.close("all")  # a figure of another script would be the current one
        with contextlib.redirect_stdout(None):
            runpy.run_path(str(script))
        pyplot.close("all")
        content = Path(f"{script.stem}.png").read_bytes()
    picture.write_bytes(content)


def digest(paths: Iterable[Path]) -> str:
    """Return a digest of the names and contents of files."""
    total = hashlib.sha256()
    for path in paths:
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        total.update(f"{path.name} {content}\n".encode())
    return total.hexdigest()


def library_digest() -> str:
    """Return a digest of the modules of mdreel, its core included, and of the version of matplotlib."""
    folder = Path(mdreel.__file__).parent
    return f"{digest(sorted([*folder.rglob('*.py'), *folder.glob('*.so')]))} {mpl.__version__}"


def make_pages(app: "Sphinx") -> None:
    """Write the page of each script, and draw the pictures of scripts that have changed."""
    folder = Path(app.srcdir) / FOLDER
    pages = folder / PAGES
    pages.mkdir(exist_ok=True)
    library, found = library_digest(), entries(folder)
    for entry in found:
        script, picture, key = folder / f"{entry.name}.py", pages / f"{entry.name}.png", pages / f"{entry.name}.key"
        wanted = f"{digest([script])} {library}\n"
        if not picture.exists() or not key.exists() or key.read_text() != wanted:
            logger.info("gallery: drawing %s", entry.name)
            try:
                draw(script, picture)
            except Exception as error:  # noqa: BLE001  # whatever a script raises is reported with its name
                logger.warning("gallery: %s.py failed: %s: %s", entry.name, type(error).__name__, error)
                continue
            key.write_text(wanted)
        write_if_changed(pages / f"{entry.name}.md", entry.page())
    remove_others(pages, {entry.name for entry in found})


def write_if_changed(path: Path, text: str) -> None:
    """Write a page unless it has this text already, so that Sphinx does not read it again."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def remove_others(pages: Path, names: set[str]) -> None:
    """Remove the pages and pictures of scripts that no longer exist."""
    for path in pages.iterdir():
        if path.stem not in names:
            path.unlink()


class Gallery(SphinxDirective):
    """Grid of thumbnails of the scripts that the content names, one a line."""

    has_content = True

    def run(self) -> "list[nodes.Node]":
        """Return the grid, and a hidden toctree of the pages."""
        folder = Path(self.env.srcdir) / FOLDER
        found = [Entry.read(folder / f"{name}.py") for name in self.names()]
        for entry in found:
            self.env.note_dependency(str(folder / f"{entry.name}.py"))
        tree = "\n".join(f"{PAGES}/{entry.name}" for entry in found)
        cards = "".join(entry.card() for entry in found)
        text = f"`````{{grid}} 1 2 3 3\n:gutter: 3\n{cards}`````\n\n```{{toctree}}\n:hidden:\n\n{tree}\n```\n"
        return self.parse_text_to_nodes(text)

    def names(self) -> Iterator[str]:
        """Return the names of the scripts."""
        return (line.strip() for line in self.content if line.strip())


def add_style(_app: "Sphinx", config: "Config") -> None:
    """Add the style of the thumbnails to the files of the site."""
    config.html_static_path.append(str(Path(__file__).parent / "gallery_static"))


def setup(app: "Sphinx") -> dict[str, Any]:
    """Register the directive, and make the pages before Sphinx reads the sources."""
    app.add_directive("gallery", Gallery)
    app.connect("config-inited", add_style)
    app.add_css_file("gallery.css")
    app.connect("builder-inited", make_pages)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
