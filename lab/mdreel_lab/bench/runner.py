"""Runner of the points of scenarios, which skips completed points."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

from mdreel.errors import MdreelError, MismatchError, UnsupportedError
from mdreel_lab.bench.allocation import Allocation
from mdreel_lab.bench.analyses import Analyses
from mdreel_lab.bench.exchange.exchanges import Exchanges
from mdreel_lab.bench.exchange.pairs import Node
from mdreel_lab.bench.exchange.points import ExchangePoint
from mdreel_lab.bench.plans import ScenarioPoint, plan
from mdreel_lab.bench.records import DONE, FAILED, LEFT_OUT, Kept, find, keep
from mdreel_lab.bench.scenario import SIZES
from mdreel_lab.bench.scenario_files import read_scenario
from mdreel_lab.bench.size_choice import LARGEST, SizeChoice

Log = Callable[[str], object]


@dataclass
class Counts:
    """Numbers of points that were run now, were run before, or cannot run here, and the points that failed."""

    n_done: int = 0
    n_kept: int = 0
    n_left_out: int = 0
    failed: list[ScenarioPoint] = field(default_factory=list)


class Runner:
    """Runs scenarios into a folder, with data in another, on this machine or on other hosts.

    Frames are exchanged between ``nodes``; analyses use the hosts and cores of ``allocation``.

    A point is complete when its record exists, and records are written atomically. After Ctrl-C, a kill or a crash,
    the same call continues with the missing points. It also repeats points that failed or could not run.
    """

    def __init__(
        self,
        folder: Path,
        data: Path | None = None,
        log: Log = lambda line: None,
        shared: Path | None = None,
        nodes: Sequence[Node] = (),
        allocation: Allocation | None = None,
    ) -> None:
        self._folder = folder
        self._data = folder / "data" if data is None else data
        self._log = log
        self._shared = shared
        self._nodes = nodes
        self._allocation = Allocation() if allocation is None else allocation

    def run(self, scenarios: Sequence[Path], size: str, seconds: float = 3600.0, repeats: int | None = None) -> Counts:
        """Run scenarios, given by their files, at a size; at the size `LARGEST`, each one takes the given time.

        At the other sizes, `repeats` replaces the number of repeats that the scenarios specify.

        Raise a `MismatchError` or `OSError` before anything is run if a scenario cannot be read, or the folder not be
        written.
        """
        for name, n_files in Counter(path.stem for path in scenarios).items():
            if n_files > 1:
                raise MismatchError(f"two scenarios are called {name}")
        for path in scenarios:
            plan(path.stem, read_scenario(path), SIZES[0] if size == LARGEST else size)
        self._folder.mkdir(parents=True, exist_ok=True)
        analyses = Analyses(self._folder, self._data, self._log, self._allocation)
        with Exchanges(self._folder, self._data, self._shared, self._nodes) as exchanges:
            choice = SizeChoice(self._folder, seconds, self._allocation, analyses, exchanges, self._log, repeats)
            every = [point for path in scenarios for point in choice.points(path, size)]
            counts, began = Counts(), monotonic()
            before = [find(self._folder, point) for point in every]
            wanted = [point for point, kept in zip(every, before, strict=True) if kept is None or kept.status != DONE]
            counts.n_kept = len(every) - len(wanted)
            for i, point in enumerate(wanted, 1):
                kept = _attempt(point, analyses, exchanges)
                keep(self._folder, kept)
                counts.n_done += kept.status == DONE
                counts.n_left_out += kept.status == LEFT_OUT
                counts.failed += [point] if kept.status == FAILED else []
                said = f"{kept.seconds:.3g} s" if kept.status == DONE else f"{kept.status}: {kept.message}"
                self._log(f"[{i}/{len(wanted)}] {point}: {said}{_left(began, i, len(wanted) - i)}")
        return counts


def _attempt(point: ScenarioPoint, analyses: Analyses, exchanges: Exchanges) -> Kept[ScenarioPoint]:
    """Run a point; return its record, also where it failed or cannot run here."""
    try:
        return exchanges.run(point) if isinstance(point, ExchangePoint) else analyses.run(point)
    except UnsupportedError as error:
        return Kept(point, LEFT_OUT, str(error))
    except (MdreelError, OSError, RuntimeError) as error:
        return Kept(point, FAILED, str(error))


def _left(began: float, n_done: int, n_left: int) -> str:
    """Estimate the remaining time from the mean time of the completed points."""
    if not n_left or not n_done:
        return ""
    minutes, seconds = divmod(round((monotonic() - began) / n_done * n_left), 60)
    return f" (about {minutes}:{seconds:02} min left)"
