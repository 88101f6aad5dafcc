"""Progress bars on terminals and in notebooks."""

import sys
import time
from collections.abc import Callable
from importlib import import_module
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self, TextIO

from mdreel.foundation.formatting import digits
from mdreel.foundation.session import in_notebook

if TYPE_CHECKING:
    from rich.progress import TaskID

_REDRAW_SECONDS = 0.2
_PATIENCE_SECONDS = 0.4  # shorter runs show no bar on a terminal


class Progress:
    """Progress bar that shows frames per second and the remaining time.

    If `stream` is a terminal, the bar is drawn on it. In a notebook, it is shown as HTML. Otherwise, nothing is shown.

    Parameters
    ----------
    description : str
        Title of the bar.
    n_frames : int, optional
        Number of frames. If it is unknown, the remaining time is not shown.
    enabled : bool
        Whether to show the progress bar.
    stream : text file, optional
        The terminal. The default is standard error.
    clock : callable, optional
        Monotonic clock in seconds.

    Notes
    -----
    `update` redraws the bar at most five times a second.
    """

    def __init__(
        self,
        description: str,
        n_frames: int | None = None,
        enabled: bool = True,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._description = description
        self._n_frames = n_frames
        self._enabled = enabled
        self._stream = stream
        self._clock = clock
        self._make_bar: Callable[[], _Bar] | None = None
        self._bar: _Bar | None = None
        self._started = 0.0
        self._next_drawing = 0.0
        self._frames_done = 0

    def __enter__(self) -> Self:
        stream = self._stream if self._stream is not None else sys.stderr
        self._started = self._next_drawing = self._clock()
        if self._enabled and self._stream is None and in_notebook():
            self._make_bar = lambda: _NotebookBar(self._description, self._n_frames)
        elif self._enabled and stream is not None and stream.isatty():
            self._make_bar = lambda: _TerminalBar(self._description, self._n_frames, stream)
            self._next_drawing += _PATIENCE_SECONDS
        return self

    def update(self, frames_done: int) -> None:
        """Set the number of analysed frames.

        Parameters
        ----------
        frames_done : int
            Number of frames since the beginning, not since the last call.
        """
        self._frames_done = frames_done
        now = self._clock()
        if self._make_bar is not None and now >= self._next_drawing:
            if self._bar is None:
                self._bar = self._make_bar()
            self._bar.draw(frames_done, now - self._started)
            self._next_drawing = now + _REDRAW_SECONDS

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.close(self._frames_done, self._clock() - self._started, failed=error is not None)
            self._bar = None


class _Bar(Protocol):
    def draw(self, frames_done: int, seconds: float) -> None: ...

    def close(self, frames_done: int, seconds: float, failed: bool) -> None: ...


class _TerminalBar:
    """Progress bar on a terminal. It disappears at the end of the run."""

    def __init__(self, description: str, n_frames: int | None, stream: TextIO) -> None:
        # Imported here because the import takes longer than a short run.
        from rich.console import Console
        from rich.progress import BarColumn, TaskProgressColumn, TextColumn
        from rich.progress import Progress as RichProgress

        self._progress: RichProgress = RichProgress(
            TextColumn("[bold]{task.description}"),
            BarColumn(bar_width=None, complete_style="cyan", finished_style="green"),
            TaskProgressColumn(),
            TextColumn("[dim]{task.fields[facts]}"),
            console=Console(file=stream),
            auto_refresh=False,
            transient=True,
            expand=True,
        )
        self._n_frames = n_frames
        self._task: TaskID = self._progress.add_task(description, total=n_frames, facts="")
        self._progress.start()

    def draw(self, frames_done: int, seconds: float) -> None:
        from rich.control import Control
        from rich.segment import ControlType

        facts = describe(frames_done, self._n_frames, seconds)
        with self._progress.console as console:  # one write
            self._progress.update(self._task, completed=frames_done, facts=facts, refresh=True)
            # The terminal writes ^C at the cursor. At the end of the line, ^C would move to the next line, and `close`
            # would clear that line instead of the bar.
            console.control(Control(ControlType.CARRIAGE_RETURN))

    def close(self, frames_done: int, seconds: float, failed: bool) -> None:
        self._progress.stop()


class _NotebookBar:
    """Progress bar in a notebook. It is plain HTML and does not need widgets."""

    def __init__(self, description: str, n_frames: int | None) -> None:
        notebook: Any = import_module("IPython.display")  # an optional package without types

        self._html = notebook.HTML
        self._description = description
        self._n_frames = n_frames
        self._display = notebook.display(self._html(""), display_id=True)

    def draw(self, frames_done: int, seconds: float) -> None:
        self._show(frames_done, self._n_frames, describe(frames_done, self._n_frames, seconds))

    def close(self, frames_done: int, seconds: float, failed: bool) -> None:
        """Draw the final state, which remains in the notebook."""
        if failed:
            self._show(frames_done, self._n_frames or frames_done, f"stopped after {frames_done:,} frames")
        else:
            self._show(frames_done, frames_done, describe(frames_done, frames_done, seconds))

    def _show(self, frames_done: int, n_frames: int | None, facts: str) -> None:
        from html import escape

        # A progress element without a value is drawn as indeterminate.
        ending = f' max="{max(n_frames, 1)}" value="{frames_done}"' if n_frames is not None else ""
        self._display.update(
            self._html(
                '<div style="display:flex;align-items:center;gap:0.8em;font-size:0.9em">'
                f"<b>{escape(self._description)}</b>"
                f'<progress{ending} style="flex:1;max-width:32em;height:1em;accent-color:#0072B2"></progress>'
                f'<span style="font-variant-numeric:tabular-nums;opacity:0.75">{escape(facts)}</span></div>'
            )
        )


def describe(frames_done: int, n_frames: int | None, seconds: float) -> str:
    """Return a line that states the number of analysed frames, the frames per second, and the remaining or total time.

    Parameters
    ----------
    frames_done : int
        Number of frames since the beginning.
    n_frames : int or None
        Total number of frames, if it is known.
    seconds : float
        Time since the beginning, in s.
    """
    rate = frames_done / seconds if seconds > 0 else 0.0
    counted = f"{frames_done:,}/{n_frames:,} frames" if n_frames is not None else f"{frames_done:,} frames"
    facts = [counted, f"{digits(rate)} frames/s"]
    if n_frames is not None and frames_done >= n_frames:
        facts.append(f"{_duration(seconds)} in all")
    elif n_frames is not None and rate > 0:
        facts.append(f"{_duration((n_frames - frames_done) / rate)} left")
    return " · ".join(facts)


def _duration(seconds: float) -> str:
    if seconds < 0.0995:
        return f"{1000 * seconds:.0f} ms"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    minutes, whole = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{whole:02}" if hours else f"{minutes}:{whole:02} min" if minutes else f"{whole} s"
