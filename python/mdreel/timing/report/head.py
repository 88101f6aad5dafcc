"""Heads of the report page and of its timing section."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from mdreel.foundation.formatting import BYTES, BYTES_PER_SECOND, SECONDS, amount, digits
from mdreel.foundation.html.markup import Markup, element, joined, together
from mdreel.foundation.html.palette import class_of
from mdreel.timing.report.term import term
from mdreel.timing.stragglers import STRAGGLER, Straggler
from mdreel.timing.summary import SHORT_RUN_SECONDS, duration_text
from mdreel.timing.time_shares import share_texts
from mdreel.timing.timing import Timing

if TYPE_CHECKING:
    from mdreel.timing.record import Record

_MOST_LISTED = 8


def head(record: "Record") -> Markup:
    """Return the head of the page, which contains the title, the date and the host.

    Parameters
    ----------
    record : Record
        Record of the run.
    """
    when = [str(fact) for fact in (record.environment.get("date"), record.environment.get("hostname")) if fact]
    line = element("p", " · ".join(("mdreel", *when)), class_="when")
    return element("header", line, element("h1", record.title or "mdreel run"))


def timing_head(timing: Timing) -> Markup:
    """Return the head of the timing section, with rates, bottleneck and stragglers.

    For a short run, the head contains only the time and the rates.

    Parameters
    ----------
    timing : Timing
        Timing of the run.
    """
    figures = [element("div", element("b", value), element("span", name)) for name, value in _figures(timing)]
    shares = [together(term(kind), f" {share}") for kind, share in share_texts(timing.shares).items()]
    return element(
        "section",
        element("h2", "Timing"),
        *([_duration(timing)] if timing.is_short else _verdict(timing)),
        element("p", joined(", ", shares), class_="shares"),
        element("div", *figures, class_="figures"),
        class_="timing",
        id_="timing",
    )


def _duration(timing: Timing) -> Markup:
    return element(
        "p",
        f"{duration_text(timing.run_seconds)}; runs of less than {SHORT_RUN_SECONDS:g} s are too short to name a ",
        term("bottleneck"),
        ".",
        class_="verdict",
    )


def _verdict(timing: Timing) -> tuple[Markup, Markup]:
    verdict = timing.bottleneck
    what, comma, share = verdict.sentence.partition(",")
    name = term(verdict.kind, what) if verdict.kind else what
    class_ = f"verdict {class_of(verdict.kind)}".strip()
    sentence = element("p", term("bottleneck", "Bottleneck"), ": ", name, f"{comma}{share}.", class_=class_)
    return sentence, _stragglers(timing.straggling)


def _figures(timing: Timing) -> Iterator[tuple[str, str]]:
    n_workers = len(timing.workers)
    yield term("time of the run"), amount(timing.run_seconds, SECONDS)
    if timing.topology_seconds:
        yield together(term("topology"), ", before the run"), amount(timing.topology_seconds, SECONDS)
    yield "frames", f"{timing.n_frames:,}"
    if timing.run_seconds:
        yield "frames/s", digits(timing.frames_per_second)
        yield term("read rate"), amount(timing.bytes_per_second, BYTES_PER_SECOND)
    yield "read", amount(timing.n_bytes, BYTES)
    yield term("worker", "worker" if n_workers == 1 else "workers"), f"{n_workers:,}"
    yield term("block", "blocks"), f"{timing.n_blocks:,}"
    if timing.peak_bytes:
        yield term("memory"), amount(timing.peak_bytes, BYTES)


def _stragglers(straggling: tuple[Straggler, ...]) -> Markup:
    if not straggling:
        none = (f"No worker took more than {STRAGGLER} times the ", term("median"), ".")
        return element("p", *none, class_="stragglers")
    items = [element("li", *_straggler_text(straggler)) for straggler in straggling[:_MOST_LISTED]]
    if len(straggling) > _MOST_LISTED:
        items.append(element("li", f"and {len(straggling) - _MOST_LISTED:,} more"))
    counted = (
        (f"{len(straggling):,} ", term("straggler", "stragglers"))
        if len(straggling) > 1
        else ("One ", term("straggler"))
    )
    return element("div", element("p", *counted, ":"), element("ul", *items), class_="stragglers")


def _straggler_text(straggler: Straggler) -> tuple[str, ...]:
    return (
        element("b", f"worker {straggler.rank}"),
        f": {digits(straggler.times_median)} × the median, {digits(straggler.times_fastest)} × the fastest; ",
        element("b", straggler.reason),
        f" ({amount(straggler.excess_seconds, SECONDS)} more than the median worker)",
    )
