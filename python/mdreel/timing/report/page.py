"""Report page of a run, self-contained HTML."""

from pathlib import Path
from typing import TYPE_CHECKING

from mdreel.errors import UnsupportedError
from mdreel.foundation.atomic_files import check_target, replacing
from mdreel.foundation.html.markup import Markup, element, together
from mdreel.foundation.html.palette import stylesheet
from mdreel.timing.report.block_times import block_times
from mdreel.timing.report.environment_table import environment_table
from mdreel.timing.report.head import head
from mdreel.timing.report.observables_table import observables_table
from mdreel.timing.report.rank_bars import rank_bars
from mdreel.timing.report.ratios import ratios
from mdreel.timing.report.task_stream import task_stream
from mdreel.timing.report.throughput import against_limits, throughput

if TYPE_CHECKING:
    from mdreel.timing.record import Record

EXTENSIONS = (".html", ".htm")

# Whatever a run may be called, nothing in the page can ask for anything outside of it.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


def check_report(path: Path, force: bool = False) -> None:
    """Check, before the work begins, that a report can be written to `path` at its end.

    Parameters
    ----------
    path : Path
        Where the page shall be: ``.html`` or ``.htm``.
    force : bool
        Whether an existing file may be replaced.

    Raises
    ------
    UnsupportedError
        If the ending is another.
    OSError
        If the file exists (and `force` is false), or its directory does not or cannot be written to.
    """
    if path.suffix.lower() not in EXTENSIONS:
        found = f"ends in {path.suffix!r}" if path.suffix else "has no ending"
        raise UnsupportedError(f"the name {found}; known endings of reports: {', '.join(EXTENSIONS)}", path=path)
    check_target(path, force)


def write_report(record: "Record", path: Path, force: bool = False) -> None:
    """Write a run as a page for a browser; `path` is complete afterwards, or untouched.

    Parameters
    ----------
    record : Record
        The run: spans, environment, limits of the machine, title.
    path : Path
        Where the page shall be: ``.html`` or ``.htm``.
    force : bool
        Whether an existing file may be replaced.

    Raises
    ------
    UnsupportedError, OSError
        As `check_report`, or if the disk is full; nothing is left behind.

    Notes
    -----
    The page is one file of some 100 kB to 1 MB, however long the run was and however many ranks took part: figures are
    drawn as one path for each kind of time, at the resolution of a screen.
    """
    check_report(path, force)
    text = page_of(record)
    with replacing(path, force) as temporary:
        # Names of files need not be text.
        temporary.write_bytes(text.encode("utf-8", errors="replace"))


def page_of(record: "Record") -> str:
    """Return the page of a run, as HTML.

    Parameters
    ----------
    record : Record
        The run.
    """
    timing = record.timing
    folder = Path(__file__).parent
    style = Markup(stylesheet() + (folder / "page.css").read_text(encoding="utf-8"))
    script = Markup((folder / "page.js").read_text(encoding="utf-8"))
    body = element(
        "main",
        head(record),
        rank_bars(timing),
        task_stream(timing),
        element("div", block_times(timing), throughput(timing), class_="pair"),
        against_limits(timing, record.limits),
        ratios(timing),
        observables_table(timing),
        environment_table(record.environment),
    )
    said = together(
        Markup('<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'),
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'),
        Markup('<meta name="viewport" content="width=device-width, initial-scale=1">\n'),
        Markup('<meta name="color-scheme" content="light dark">\n'),
        element("title", f"{record.title or 'A run'} – mdreel"),
        element("style", style),
        Markup("\n</head>\n<body>\n"),
        body,
        element("script", script),
        Markup("\n</body>\n</html>\n"),
    )
    return str(said)
