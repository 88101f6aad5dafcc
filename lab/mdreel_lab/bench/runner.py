"""Running: each point of a scenario, what is done already left as it is."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

from mdreel.errors import MdreelError, MismatchError, UnsupportedError
from mdreel_lab.bench.analyses import Analyses
from mdreel_lab.bench.exchange.exchanges import Exchanges
from mdreel_lab.bench.exchange.pairs import Node
from mdreel_lab.bench.exchange.points import ExchangePoint
from mdreel_lab.bench.plans import ScenarioPoint, keep_plan, plan
from mdreel_lab.bench.records import DONE, FAILED, LEFT_OUT, Kept, find, keep
from mdreel_lab.bench.scenario_files import read_scenario

Log = Callable[[str], object]


@dataclass
class Counts:
    """How many points were run now, were run before, cannot run here, or failed."""

    n_done: int = 0
    n_kept: int = 0
    n_left_out: int = 0
    failed: list[ScenarioPoint] = field(default_factory=list)


class Runner:
    """Runs scenarios into a folder, with data in another, on this machine or on launched nodes.

    A point is done when its record is there, which is written when it is whole: after Ctrl-C, a kill or a crash the
    same call goes on where it was. What failed, or was not possible, is tried again.
    """

    def __init__(
        self,
        folder: Path,
        data: Path | None = None,
        log: Log = lambda line: None,
        shared: Path | None = None,
        nodes: Sequence[Node] = (),
    ) -> None:
        self._folder = folder
        self._data = folder / "data" if data is None else data
        self._log = log
        self._shared = shared
        self._nodes = nodes

    def run(self, scenarios: Sequence[Path], size: str) -> Counts:
        """Run scenarios, given by their files, at a size.

        Raise a `MismatchError` or `OSError` before anything is run if a scenario cannot be read, or the folder not be
        written.
        """
        planned: list[tuple[Path, Sequence[ScenarioPoint]]] = []
        for path in scenarios:
            if path.stem in (other.stem for other, _ in planned):
                raise MismatchError(f"two scenarios are called {path.stem}")
            planned.append((path, plan(path.stem, read_scenario(path), size)))
        self._folder.mkdir(parents=True, exist_ok=True)
        for path, points in planned:
            keep_plan(self._folder, path.stem, path, size, points)
        counts, began = Counts(), monotonic()
        every = [point for _, points in planned for point in points]
        wanted = [point for point in every if not self._is_done(point)]
        counts.n_kept = len(every) - len(wanted)
        analyses = Analyses(self._folder, self._data, self._log)
        with Exchanges(self._folder, self._data, self._shared, self._nodes) as exchanges:
            for i, point in enumerate(wanted, 1):
                kept = _attempt(point, analyses, exchanges)
                self._count(counts, kept)
                self._log(f"[{i}/{len(wanted)}] {point}: {_said(kept)}{_left(began, i, len(wanted) - i)}")
        return counts

    def _is_done(self, point: ScenarioPoint) -> bool:
        before = find(self._folder, point)
        return before is not None and before.status == DONE

    def _count(self, counts: Counts, kept: Kept[ScenarioPoint]) -> None:
        keep(self._folder, kept)
        if kept.status == DONE:
            counts.n_done += 1
        elif kept.status == LEFT_OUT:
            counts.n_left_out += 1
        else:
            counts.failed.append(kept.point)


def _attempt(point: ScenarioPoint, analyses: Analyses, exchanges: Exchanges) -> Kept[ScenarioPoint]:
    """Run a point; return its record, also where it failed or cannot run here."""
    try:
        return exchanges.run(point) if isinstance(point, ExchangePoint) else analyses.run(point)
    except UnsupportedError as error:
        return Kept(point, LEFT_OUT, str(error))
    except (MdreelError, OSError, RuntimeError) as error:
        return Kept(point, FAILED, str(error))


def _said(kept: Kept[ScenarioPoint]) -> str:
    return f"{kept.seconds:.3g} s" if kept.status == DONE else f"{kept.status}: {kept.message}"


def _left(began: float, n_done: int, n_left: int) -> str:
    """Say how long the rest takes if it takes as long as what was done."""
    if not n_left or not n_done:
        return ""
    minutes, seconds = divmod(round((monotonic() - began) / n_done * n_left), 60)
    return f" (about {minutes}:{seconds:02} min left)"
