"""Hatchet and Thicket read our profiles: those of runs, and those of pairs that exchange frames."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from any_record import real_record
from mdreel.timing.files import write_record
from mdreel.timing.record import Record
from mdreel.timing.spans import KINDS
from mdreel_lab.bench.exchange.exchanges import write_profile

hatchet = pytest.importorskip("hatchet", reason="not installed: llnl-hatchet")
thicket = pytest.importorskip("thicket", reason="not installed: llnl-thicket")

# Between these programs and pandas.
pytestmark = [
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

PAIRS = [
    {
        "produce": {"regions": {"produce": [4.0, 5.0], "produce/write": [1.0, 2.0]}},
        "consume": {"regions": {"consume": [3.0], "consume/fetch": [0.5], "consume/fetch/wait": [0.25]}},
    },
    {
        "produce": {"regions": {"produce": [6.0], "produce/write": [2.0]}},
        "consume": {"regions": {"consume": [7.0], "consume/fetch": [1.0], "consume/fetch/wait": [0.75]}},
    },
]
"""What two pairs spent in their regions, s."""


@pytest.fixture(scope="module")
def records() -> dict[str, Record]:
    return {name: real_record(name) for name in ("threads", "processes")}


def seconds_of(record: Record, kind: str) -> float:
    """The time that all workers spent in a kind of span, by the spans themselves."""
    spans = record.timing.spans
    own = spans[spans["kind"] == KINDS.index(kind)]
    return float((own["stop_ns"] - own["start_ns"]).sum()) * 1e-9


def test_thicket_compares_runs(tmp_path: Path, records: dict[str, Record]) -> None:
    for name, record in records.items():
        write_record(record, tmp_path / f"{name}.cali.json")
    runs = thicket.Thicket.from_caliper([str(tmp_path / f"{name}.cali.json") for name in records], disable_tqdm=True)
    assert len(runs.profile) == 2
    assert set(runs.metadata["title"]) == {"RMSD of AdK"}
    frame = runs.dataframe.reset_index()
    by_profile = {name: group for name, group in frame.groupby("profile")}  # noqa: C416 (a group by is no mapping)
    assert len(by_profile) == 2
    found = {
        kind: sorted(float(own[own["name"] == kind]["time"].sum()) for own in by_profile.values())
        for kind in ("read", "decompress", "compute")
    }
    for kind, seconds in found.items():
        assert seconds == pytest.approx(sorted(seconds_of(record, kind) for record in records.values())), kind


def test_hatchet_finds_the_frames_of_each_worker(tmp_path: Path, records: dict[str, Record]) -> None:
    record = records["threads"]
    write_record(record, tmp_path / "run.cali.json")
    frame = hatchet.GraphFrame.from_caliper(str(tmp_path / "run.cali.json")).dataframe.reset_index()
    computed = frame[frame["name"] == "compute"].set_index("rank")["frames"]
    spans = record.timing.spans[record.timing.spans["kind"] == KINDS.index("compute")]
    wanted = {worker: spans[spans["worker"] == worker]["n_frames"].sum() for worker in np.unique(spans["worker"])}
    assert {rank: n for rank, n in computed.items() if n} == {int(k): n for k, n in wanted.items() if n}


def test_pairs_have_a_rank_for_each_process(tmp_path: Path) -> None:
    path = tmp_path / "pairs.cali.json"
    write_profile(path, "two pairs", PAIRS)
    frame = hatchet.GraphFrame.from_caliper(str(path))
    assert {root.frame["name"] for root in frame.graph.roots} == {"produce", "consume"}
    rows: dict[tuple[str, int], Any] = {
        (row["name"], row["rank"]): row for row in frame.dataframe.reset_index().to_dict("records")
    }
    assert rows["produce", 0]["time"] == 6.0  # 9 s without the 3 s of writing
    assert rows["produce", 0]["time (inc)"] == 9.0
    assert rows["fetch", 1]["time"] == 0.25
    assert rows["wait", 3]["time (inc)"] == 0.75
    assert rows["write", 2]["count"] == 1
    write_profile(tmp_path / "one.cali.json", "one pair", PAIRS[:1])
    runs = thicket.Thicket.from_caliper([str(path), str(tmp_path / "one.cali.json")], disable_tqdm=True)
    assert set(runs.metadata["title"]) == {"two pairs", "one pair"}
    times = runs.dataframe["time"].sum()
    assert times == pytest.approx(
        sum(sum(one["regions"][role]) for pair in [*PAIRS, PAIRS[0]] for role, one in pair.items())
    )
    assert json.loads(path.read_text())["title"] == "two pairs"
