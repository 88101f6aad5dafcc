"""Runner of points of exchange, each with fresh processes, folders and channels."""

import json
from collections import defaultdict
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from secrets import token_hex
from typing import Any

from mdreel.errors import UnsupportedError
from mdreel.execution.available_cores import available_processors
from mdreel.timing.environment import environment_of, versions
from mdreel_lab.bench.exchange.catalogue import DYAD, MOOSEFS, SHARED
from mdreel_lab.bench.exchange.nodes import Nodes, folders_on
from mdreel_lab.bench.exchange.pairs import Node, run_pairs
from mdreel_lab.bench.exchange.places import MEMORY, Places, kind_of
from mdreel_lab.bench.exchange.points import ExchangePoint
from mdreel_lab.bench.exchange.regions import CONSUME, PRODUCE
from mdreel_lab.bench.exchange.solutions.ways import WAYS
from mdreel_lab.bench.exchange.work import Work, free_port
from mdreel_lab.bench.records import DONE, Kept, place_of, write_text
from mdreel_lab.bench.rigs.dyad import dyad_versions

_FAR_PORT = 17_500


class Exchanges(ExitStack):
    """Runner of points of exchange on launched nodes, or on hosts that exist until ``with`` ends."""

    def __init__(self, folder: Path, data: Path, shared: Path | None, launched: Sequence[Node] = ()) -> None:
        super().__init__()
        self._folder = folder
        self._has_shared = shared is not None
        self._places = self.enter_context(Places(data, shared))
        self._nodes = self.enter_context(Nodes(data, launched))

    def can_run(self, point: ExchangePoint) -> bool:
        """Return whether the programs of a point are installed, and its shared folder was given."""
        if point.solution == SHARED and not self._has_shared:
            return False
        return not WAYS[point.solution][0].missing(work_of(point, 0, Path(), ""))

    def run(self, point: ExchangePoint) -> Kept[ExchangePoint]:
        """Run a point; return its record.

        Raise an `UnsupportedError` if it cannot run here, or a `RuntimeError` if a process fails.
        """
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
            work = work_of(point, number, place, producer.address)
            works.append(work)
            nodes.append((producer, consumer))
            folders[producer] += [place, work.folder, Path(work.producer_memory)]
            folders[consumer] += [place, work.folder, Path(work.consumer_memory)]
        if missing := WAYS[point.solution][0].missing(works[0]):
            raise UnsupportedError(missing)
        with folders_on(folders, root):
            found_versions = versions() | (dyad_versions() if point.solution == DYAD else {})
            environment = environment_of([]) | {"versions": found_versions}
            seconds, found = run_pairs(works, nodes)
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


def work_of(point: ExchangePoint, number: int, place: Path, address: str) -> Work:
    """Return the order of a pair, with folders of its own."""
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
        n_sleeps=point.n_sleeps,
    )


def write_profile(path: Path, title: str, pairs: list[dict[str, Any]]) -> None:
    """Write the regions of all processes as a profile in Caliper's split JSON, which Hatchet and Thicket read.

    The producer of pair p is rank 2p, its consumer rank 2p + 1.
    """
    times = [pair[role]["regions"] for pair in pairs for role in (PRODUCE, CONSUME)]
    paths = sorted({name for one in times for name in one})
    numbers = {name: number for number, name in enumerate(paths)}
    nodes = []
    for name in paths:
        above, _, label = name.rpartition("/")
        nodes.append({"label": label, "column": "path"} | ({"parent": numbers[above]} if above else {}))
    rows = []
    for rank, one in enumerate(times):
        for name, number in numbers.items():
            several = one.get(name, [])
            within = [sum(one[other]) for other in one if other.rpartition("/")[0] == name]
            rows.append([number, rank, number, sum(several) - sum(within), sum(several), len(several)])
    columns = ["Node order", "mpi.rank", "path", "time", "inclusive#sum#time.duration", "count"]
    profile = {
        "data": rows,
        "columns": columns,
        "column_metadata": [{"is_value": name != "path"} for name in columns],
        "nodes": nodes,
        "title": title,
    }
    write_text(path, json.dumps(profile) + "\n")
