"""The experiment of file reads and messages on one link: its settings, its tables, and a short run."""

import json
import math
from pathlib import Path

import pytest

from mdreel_lab.bench.interference.__main__ import main
from mdreel_lab.bench.interference.experiment import why_it_cannot_run
from mdreel_lab.bench.interference.settings import BUSY, MPICH, OPEN_MPI, QUIET, SEPARATE, SHARED, Setting, starts
from mdreel_lab.bench.interference.tables import cells_of, n_stragglers_of, slowest_of, tables_of

NAMES = ("t_open", "t_io", "t_comp", "t_wait", "t_comm_wait", "t_transfer", "t_own")


def record(network: str, load: str, total: float, own: list[float]) -> dict:
    setting = {"mpi": MPICH, "network": network, "workload": "rmsd", "access": "default", "transfer": "gather"}
    observables = {name: [total / 4] * len(own) for name in NAMES} | {"t_own": own}
    received = {"anna": [600, 0], "bert": [900, 10]}
    found = {"setting": setting | {"load": load}, "t_total": total, "observables": observables}
    return found | {"received": received, "file_bytes": 1000}


RECORDS = [
    record(SHARED, QUIET, 1.0, [1.0, 1.0, 1.6]),
    record(SHARED, BUSY, 4.0, [1.0, 1.0, 1.0]),
    record(SHARED, QUIET, 3.0, [2.0, 2.0, 2.8]),
    record(SEPARATE, QUIET, 1.5, [1.0, 1.0, 1.0]),
]


def test_every_setting_is_run_once_in_a_round():
    every = [setting for start in starts() for setting in start.runs]
    assert len(set(every)) == len(every)
    for start in starts():
        assert {(setting.mpi, setting.network) for setting in start.runs} == {(start.mpi, start.network)}
        assert {setting.load for setting in start.runs} == {QUIET, BUSY}
    assert {(one.mpi, one.transfer) for one in every} == {
        (MPICH, "gather"),
        (MPICH, "window"),
        (OPEN_MPI, "gather"),
        (OPEN_MPI, "global-arrays"),
    }


def test_stragglers_take_more_than_one_and_a_half_times_the_median():
    assert n_stragglers_of([1.0, 1.0, 1.5]) == 0
    assert n_stragglers_of([1.0, 1.0, 1.6]) == 1
    assert slowest_of([2.0, 1.0, 3.0]) == 1.5


def test_tables_hold_means_and_deviations_of_the_repeats():
    totals, components = tables_of({"records": RECORDS})
    (row,) = totals.rows
    cells = dict(zip(totals.headings, row, strict=True))
    assert cells["shared link (s)"] == 2.0
    assert cells["shared link ±"] == pytest.approx(math.sqrt(2))
    assert cells["separate link (s)"] == 1.5
    assert cells["shared link, busy (s)"] == 4.0
    assert math.isnan(cells["separate link, busy (s)"])
    first = dict(zip(components.headings, components.rows[0], strict=True))
    assert (first["Repeats"], first["t_io (s)"], first["Stragglers"]) == (2, 0.5, 1)
    assert first["Slowest / median"] == pytest.approx(1.5)
    assert math.isnan(first["Bytes read / file"])  # messages use the same link
    assert components.rows[2][-1] == 1.5
    assert len(components.rows) == len(cells_of(RECORDS)) == 3


@pytest.mark.skipif(why_it_cannot_run() is not None, reason=str(why_it_cannot_run()))
def test_reads_and_messages_take_the_links_of_the_setting_and_all_results_agree(tmp_path: Path):
    words = ["-o", str(tmp_path), "--frames", "240", "--ranks-per-host", "1", "--rounds", "1", "--mpi", MPICH]
    assert main(words) == 0
    page = json.loads((tmp_path / "records.json").read_text())
    expected = [setting for start in starts((MPICH,)) for setting in start.runs]
    assert [Setting(**one["setting"]) for one in page["records"]] == expected
    for one in page["records"]:
        assert len(one["observables"]["t_io"]) == 3
        assert sum(one["observables"]["n_frames"]) == 240
        assert one["file_bytes"] > 240 * 11_000
        files, messages = (sum(column) for column in zip(*one["received"].values(), strict=True))
        assert files > one["file_bytes"]  # every byte has come through the links
        # Two of three ranks send 848 numbers of 8 bytes a frame.
        if one["setting"]["workload"] == "dihedrals" and one["setting"]["network"] == SEPARATE:
            assert messages > 300_000
        if one["setting"]["network"] == SHARED:
            assert messages < 10_000
    for workload in ("rmsd", "dihedrals"):
        assert len({one["check"] for one in page["records"] if one["setting"]["workload"] == workload}) == 1
    assert (tmp_path / "totals.md").read_text().count("\n|") > 8
