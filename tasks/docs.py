"""Building the documentation site."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SITE = ROOT / "build" / "docs"


def site_command(python: str | Path, site: Path = SITE) -> list[str | Path]:
    """Return the command that builds the site; it fails if there is a warning.

    Parameters
    ----------
    python : str or Path
        The interpreter, which has mdreel, mdreel-lab and the packages of ``requirements/docs.txt``.
    site : Path
        The folder of the pages. What the next build uses again stands beside it.

    Returns
    -------
    list of str or Path
        The words of the command.
    """
    # Pages that were read before are kept. Notebooks and pictures that have not changed are not made again.
    doctrees = site.with_name(f"{site.name}-doctrees")
    options = ("--builder", "html", "--fail-on-warning", "--keep-going", "--jobs", "auto", "--quiet", "--doctree-dir")
    return [python, "-m", "sphinx", *options, doctrees, ROOT / "docs", site]
