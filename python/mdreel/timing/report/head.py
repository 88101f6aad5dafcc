"""Head of the report page: title, rate and bottleneck."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from mdreel.foundation.formatting import BYTES, BYTES_PER_SECOND, SECONDS, amount, digits
from mdreel.foundation.html.markup import Markup, element
from mdreel.foundation.html.palette import class_of
from mdreel.timing.stragglers import STRAGGLER, Straggler
from mdreel.timing.time_shares import shares_in_words
from mdreel.timing.timing import Timing

if TYPE_CHECKING:
    from mdreel.timing.record import Record

_MOST_LISTED = 8


def head(record: "Record") -> Markup:
    """Return the head of the page: title, rates, bottleneck and stragglers.

    Parameters
    ----------
    record : Record
        Record of the run.
    """
    timing = record.timing
    when = [str(fact) for fact in (record.environment.get("date"), record.environment.get("hostname")) if fact]
    figures = [element("div", element("b", value), element("span", name)) for name, value in _figures(timing)]
    verdict = timing.bottleneck
    return element(
        "header",
        element("p", " · ".join(("mdreel", *when)), class_="when"),
        element("h1", record.title or "mdreel run"),
        element("p", f"Bottleneck: {verdict.sentence}.", class_=f"verdict {class_of(verdict.kind)}".strip()),
        element("p", ", ".join(shares_in_words(timing.shares)), class_="shares"),
        _stragglers(timing.straggling),
        element("div", *figures, class_="figures"),
    )


def _figures(timing: Timing) -> Iterator[tuple[str, str]]:
    n_workers = len(timing.workers)
    yield "time of the run", amount(timing.run_seconds, SECONDS)
    if timing.topology_seconds:
        yield "topology, before the run", amount(timing.topology_seconds, SECONDS)
    yield "frames", f"{timing.n_frames:,}"
    if timing.run_seconds:
        yield "frames/s", digits(timing.frames_per_second)
        yield "read rate", amount(timing.bytes_per_second, BYTES_PER_SECOND)
    yield "read", amount(timing.n_bytes, BYTES)
    yield "worker" if n_workers == 1 else "workers", f"{n_workers:,}"
    yield "blocks", f"{timing.n_blocks:,}"
    if timing.peak_bytes:
        yield "memory", amount(timing.peak_bytes, BYTES)


def _stragglers(straggling: tuple[Straggler, ...]) -> Markup:
    if not straggling:
        return element("p", f"No rank took more than {STRAGGLER} times the median.", class_="stragglers")
    items = [element("li", *_straggler_text(straggler)) for straggler in straggling[:_MOST_LISTED]]
    if len(straggling) > _MOST_LISTED:
        items.append(element("li", f"and {len(straggling) - _MOST_LISTED:,} more"))
    many = f"{len(straggling):,} stragglers" if len(straggling) > 1 else "One straggler"
    return element("div", element("p", f"{many}:"), element("ul", *items), class_="stragglers")


def _straggler_text(straggler: Straggler) -> tuple[str, ...]:
    return (
        element("b", f"rank {straggler.rank}"),
        f": {digits(straggler.times_median)} × the median, {digits(straggler.times_fastest)} × the fastest; ",
        element("b", straggler.reason),
        f" ({amount(straggler.excess_seconds, SECONDS)} more than the median rank)",
    )
