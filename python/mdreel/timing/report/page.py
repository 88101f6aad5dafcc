"""Report page of a run as self-contained HTML."""

from pathlib import Path
from typing import TYPE_CHECKING

from mdreel.errors import UnsupportedError
from mdreel.foundation.atomic_files import check_target, replacing
from mdreel.foundation.html.markup import Markup, element, together
from mdreel.foundation.html.palette import stylesheet
from mdreel.timing.report.block_times import block_times
from mdreel.timing.report.environment_table import environment_table
from mdreel.timing.report.head import head, timing_head
from mdreel.timing.report.observables_table import observables_table
from mdreel.timing.report.ratios import ratios
from mdreel.timing.report.results_card import results_card
from mdreel.timing.report.task_stream import task_stream
from mdreel.timing.report.term import terms_table
from mdreel.timing.report.throughput import against_limits, throughput
from mdreel.timing.report.worker_bars import worker_bars

if TYPE_CHECKING:
    from mdreel.timing.record import Record

EXTENSIONS = (".html", ".htm")

# The page loads nothing from outside, even if the title of a run contains markup.
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


def check_report(path: Path, force: bool = False) -> None:
    """Before a run, check that its report can be written to `path`.

    Parameters
    ----------
    path : Path
        The page, with the extension ``.html`` or ``.htm``.
    force : bool
        Whether to replace an existing file.

    Raises
    ------
    UnsupportedError
        If the file has a different extension.
    OSError
        If the file exists and `force` is false, or if its directory does not exist or is not writable.
    """
    if path.suffix.lower() not in EXTENSIONS:
        found = f"ends in {path.suffix!r}" if path.suffix else "has no ending"
        raise UnsupportedError(f"the name {found}; known endings of reports: {', '.join(EXTENSIONS)}", path=path)
    check_target(path, force)


def write_report(record: "Record", path: Path, force: bool = False) -> None:
    """Write the report of a run as an HTML page. If an error occurs, an existing page is not modified.

    Parameters
    ----------
    record : Record
        Record of the run.
    path : Path
        The page, with the extension ``.html`` or ``.htm``.
    force : bool
        Whether to replace an existing file.

    Raises
    ------
    UnsupportedError, OSError
        See `check_report`. Also raised if the disk is full. No partial file is left behind.

    Notes
    -----
    The page is a single file of about 100 kB to 1 MB. Each plot of results adds up to 1 MB. The size does not depend on
    the length of the run or the number of workers, because figures contain one path per kind of time at screen
    resolution. Plots are embedded as images, in which browsers do not run scripts or load other files.
    """
    check_report(path, force)
    text = page_of(record)
    with replacing(path, force) as temporary:
        # Names of files may contain bytes that are not text.
        temporary.write_bytes(text.encode("utf-8", errors="replace"))


def page_of(record: "Record") -> str:
    """Return the page of a run as HTML."""
    timing = record.timing
    from_start = timing.without_topology()
    folder = Path(__file__).parent
    style = Markup(stylesheet() + (folder / "page.css").read_text(encoding="utf-8"))
    script = Markup((folder / "page.js").read_text(encoding="utf-8"))
    body = element(
        "main",
        head(record),
        results_card(record.run),
        timing_head(timing),
        worker_bars(timing),
        task_stream(from_start, timing.topology_seconds),
        element("div", block_times(timing), throughput(from_start), class_="pair"),
        against_limits(timing, record.limits),
        ratios(timing),
        observables_table(timing),
        environment_table(record.environment),
        terms_table(),
    )
    page = together(
        Markup('<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'),
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'),
        Markup('<meta name="viewport" content="width=device-width, initial-scale=1">\n'),
        Markup('<meta name="color-scheme" content="light dark">\n'),
        element("title", f"{record.title or 'Run'} – mdreel"),
        element("style", style),
        Markup("\n</head>\n<body>\n"),
        body,
        element("script", script),
        Markup("\n</body>\n</html>\n"),
    )
    return str(page)
