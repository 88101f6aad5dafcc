"""Text output with one line per channel, for pipes, files and logs."""

import time
from collections.abc import Iterator, Sequence

from mdreel.foundation.formatting import digits
from mdreel.live.watch.snapshot import AnalysisSnapshot, ChannelSnapshot


def lines(seen: Sequence[ChannelSnapshot], now: float) -> list[str]:
    """Return one line of text for each channel, with the time `now` (in seconds since 1970)."""
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now))
    return [" ".join((stamp, one.name, one.state, *_words(one))) for one in seen]


def value(amount: float, unit: str = "") -> str:
    """Format a value of an analysis with its unit, with four digits and no thousands separators."""
    return f"{amount:.4g}{f' {unit}' if unit else ''}"


def _words(seen: ChannelSnapshot) -> Iterator[str]:
    status = seen.status
    if status is not None:
        yield f"frames={status.n_published}"
        if seen.frames_per_second is not None and seen.bytes_per_second is not None:
            yield f"frames_per_second={digits(seen.frames_per_second).replace(',', '')}"
            yield f"megabytes_per_second={digits(1e-6 * seen.bytes_per_second).replace(',', '')}"
        yield f"lag={','.join(map(str, status.lags)) or '-'}"
        yield f"dropped={status.n_dropped}"
    for analysis in seen.analyses:
        yield from _analysis_words(analysis)
    if seen.events:
        event = seen.events[-1]
        yield f"steering={event.event}{f':{event.rule}' if event.rule else ''}"
    if seen.reason:
        yield f"({seen.reason})"


def _analysis_words(seen: AnalysisSnapshot) -> Iterator[str]:
    notice = seen.notice
    if notice is None:
        yield f"{seen.name}={seen.state}"
        return
    yield f"{seen.name}[{notice.process.number}]={seen.state}:{notice.n_frames}"
    yield from (f"{name}={value(amount)}{unit}" for name, (amount, unit) in seen.latest.items())
    if notice.idle is not None:
        yield f"idle={100 * notice.idle:.0f}%"
    if notice.movement is not None:
        yield f"movement={100 * notice.movement:.0f}%"
