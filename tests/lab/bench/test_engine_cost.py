"""The benchmark of reporters of OpenMM: every reporter runs, and its cost reaches the page."""

import json
import os
import random
import statistics
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from forked_python.command import forked_python
from mdreel_lab.bench.contests.engine_cost import BOUND, Median, median_of
from mdreel_lab.bench.contests.openmm_reporters import INTERVAL, REPORTERS, OpenReporters, water
from mdreel_lab.bench.contests.reporter_profile import PUBLISH, REPORT, REQUESTS, STATE_PART, profile, table
from mdreel_lab.bench.processes import ProcessError


@pytest.fixture
def _needs_openmm() -> None:
    pytest.importorskip("openmm", reason="OpenMM is not installed")


@pytest.mark.usefixtures("_needs_openmm")
def test_reporters_are_measured_beside_none(tmp_path: Path, data: Path) -> None:
    command = [forked_python(), "-m", "mdreel_lab.bench.contests", "--quick", "--only", "engine-cost"]
    command += ["--data", str(data)]
    done = subprocess.run(
        command, cwd=tmp_path, env=os.environ, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stderr
    page = json.loads((data / "quick-results" / "engine-cost.json").read_text(encoding="utf-8"))
    names = [figure["text"].split(":")[0] for figure in page["figures"]]
    assert names == ["no reporter, again", *REPORTERS]
    assert "2 rounds of 50 steps" in page["title"]
    assert [[times["clock"] > 0 for times in one.values()] for one in page["rounds"]] == 2 * [[True] * 7]
    for figure in page["figures"]:
        assert figure["bound"] == BOUND
        assert figure["met"] == (figure["value"] <= figure["bound"])
        assert f"{Median(**figure['processor'])}" in figure["text"]
        assert figure["text"] in done.stdout


@pytest.mark.parametrize("n_ratios", [1, 2, 3, 60, 151])
def test_median_lies_in_its_interval_and_between_the_quartiles(n_ratios: int) -> None:
    ratios = [random.Random(n_ratios).gauss(1.02, 0.05) for _ in range(n_ratios)]
    found = median_of(ratios)
    assert found.median == pytest.approx(100 * (statistics.median(ratios) - 1))
    assert found.low <= found.median <= found.high
    assert found.lower_quartile <= found.median <= found.upper_quartile
    assert {round(found.low, 9), round(found.high, 9)} <= {round(100 * (ratio - 1), 9) for ratio in ratios}


@pytest.mark.parametrize("n_rounds", [10, 60, 150])
@pytest.mark.parametrize("per_round", [1, 2])
def test_interval_covers_the_median_in_95_of_100_measurements(n_rounds: int, per_round: int) -> None:
    noise = np.random.default_rng(1).lognormal(0.0, 0.3, (1 + per_round, 2000, n_rounds))
    ratios = np.concatenate([noise[0] / base for base in noise[1:]], axis=-1)  # their median is 1
    covered = sum(one.low <= 0 <= one.high for one in (median_of(row, per_round) for row in ratios.tolist()))
    assert 0.93 < covered / len(ratios) < (0.985 if per_round == 1 else 1)


@pytest.mark.usefixtures("_needs_openmm")
def test_profile_has_each_part_of_each_report() -> None:
    simulation: Any = water(64)
    with OpenReporters(simulation) as reporters:
        times = profile(simulation, reporters, 2)
        reporters.check(2)
    assert simulation.currentStep == 2 * INTERVAL * len(REPORTERS)
    assert list(times) == list(REPORTERS)
    for name, parts in times.items():
        own = (PUBLISH, REQUESTS) if "channel" in name else ()
        for part in (STATE_PART, REPORT, *own):
            assert len(parts[part]) == 2
        for report, *rest in zip(*(parts[part] for part in (REPORT, *own)), strict=True):
            assert report[0] >= sum(clock for clock, _ in rest) > 0 or not rest
    assert all(f"| {name} |" in table(times) for name in REPORTERS)


@pytest.mark.usefixtures("_needs_openmm")
def test_frames_that_are_missing_are_an_error() -> None:
    simulation = water(64)
    with OpenReporters(simulation) as reporters:
        simulation.reporters[:] = [reporters.by_name[REPORTERS[-1]]]
        simulation.step(INTERVAL)
        with pytest.raises(ProcessError, match=r"expected 1 frames, got .*'channel without a consumer': 0"):
            reporters.check(1)
