"""Exchanges: points of exchange are run, each with fresh processes, folders and channels."""

from collections import defaultdict
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from secrets import token_hex
from typing import Any

from mdreel.errors import UnsupportedError
from mdreel.execution.available_cores import available_processors
from mdreel_lab.bench.exchange.catalogue import MOOSEFS
from mdreel_lab.bench.exchange.nodes import Nodes, folders_on
from mdreel_lab.bench.exchange.pairs import Node, Pairs
from mdreel_lab.bench.exchange.places import MEMORY, Places, kind_of
from mdreel_lab.bench.exchange.points import ExchangePoint
from mdreel_lab.bench.exchange.profile import write_profile
from mdreel_lab.bench.exchange.solutions.ways import WAYS
from mdreel_lab.bench.exchange.work import Work, free_port
from mdreel_lab.bench.records import DONE, Kept, place_of

_FAR_PORT = 17_500


class Exchanges(ExitStack):
    """Runs points of exchange on launched nodes, or on hosts that it makes and that are gone when ``with`` ends."""

    def __init__(self, folder: Path, data: Path, shared: Path | None, launched: Sequence[Node] = ()) -> None:
        super().__init__()
        self._folder = folder
        self._places = self.enter_context(Places(data, shared))
        self._nodes = self.enter_context(Nodes(data, launched))

    def run(self, point: ExchangePoint) -> Kept[ExchangePoint]:
        """Run a point; return its record.

        Raise an `UnsupportedError` if it cannot run here, or a `RuntimeError` if a process fails.
        """
        from mdreel.timing.environment import environment_of, versions

        placed = self._nodes.of(point)
        if point.solution == MOOSEFS:
            root, file_system = self._nodes.moosefs()
        else:
            root = self._places.of(point.solution, are_apart=placed.are_apart).resolve()
            file_system = kind_of(root)
        place = root / f"mdreel-exchange-{token_hex(16)}"
        works, nodes = [], []
        folders: dict[Node, list[Path]] = defaultdict(list)
        for number in range(point.n_pairs):
            producer, consumer = (
                side[number // point.pairs_per_node % len(side)] for side in (placed.producers, placed.consumers)
            )
            work = _work(point, number, place, producer.address)
            works.append(work)
            nodes.append((producer, consumer))
            folders[producer] += [place, work.folder, Path(work.producer_memory)]
            folders[consumer] += [place, work.folder, Path(work.consumer_memory)]
        if missing := WAYS[point.solution].missing(works[0]):
            raise UnsupportedError(missing)
        with folders_on(folders, root):
            environment = environment_of([]) | {"versions": versions()}
            with Pairs(works, nodes) as pairs:
                seconds, found = pairs.run()
        facts: dict[str, Any] = {
            "n_cores": available_processors(),
            "file_system": file_system,
            "nodes": placed.said,
            "share_a_clock": not placed.are_apart,
            "period": point.period,
            "pairs": found,
        }
        write_profile(place_of(self._folder, point).with_suffix(".cali.json"), str(point), found)
        return Kept(point, DONE, "", seconds, facts, environment)


def _work(point: ExchangePoint, number: int, place: Path, address: str) -> Work:
    """Say what a pair has to do, in folders of its own."""
    far = point.placement == "nodes"
    memory = [str(MEMORY / f"{place.name}-{number}-{side}") for side in ("producer", "consumer")]
    return Work(
        solution=point.solution,
        synchronisation=point.synchronisation,
        model=point.model,
        n_frames=point.n_frames,
        period=point.period,
        analysis=point.analysis * point.period,
        place=str(place / str(number)),
        producer_memory=memory[0],
        consumer_memory=memory[1] if far else memory[0],
        address=address,
        port=_FAR_PORT + number if far else free_port(),
        far=far,
    )
