"""Tests of ``mdreel steer`` on a channel."""

import csv
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from time import monotonic, sleep

import pytest

from forked_python.command import forked_python
from live.steering.conftest import LONGEST_SECONDS, events, lines_of, run_steer, write_inputs
from publishing import said, simulate

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")

RULES = """
[[analysis]]
type = "rmsd"
output = "rmsd.csv"

[[analysis]]
type = "rmsd"
name = "core"
select = "name CA and resid 1:29"
group = "name CA and resid 122:159"
output = "core.csv"

[[analysis]]
type = "contacts"
output = "contacts.csv"

[[analysis]]
type = "helices"
segment = ["13:24", "31:40"]
pairs = true
output = "helices.csv"

[[analysis]]
type = "dihedrals"
select = "resid 3:5"
output = "dihedrals.csv"

[[rule]]
name = "open"
analysis = "rmsd"
above = 4
actions = "note"
[[rule]]
name = "apart"
analysis = "core"
column = "rmsd_group_1"
above = 8
frames = 10
share = 0.7
actions = "note"
[[rule]]
name = "few"
analysis = "contacts"
below = 0.9
actions = "note"
[[rule]]
name = "turned"
analysis = "helices"
column = "helix_1_2"
outside = [CENTRE - 15, CENTRE + 15]
actions = "note"
[[rule]]
name = "sampled"
analysis = "rmsd"
effective-samples = 2
frames = 50
actions = "note"

[[action]]
type = "run-command"
name = "note"
command = ["true"]
"""


@pytest.fixture(autouse=True)
def folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path_factory.mktemp("channels")
    place.chmod(0o700)
    monkeypatch.setenv("MDREEL_CHANNELS", str(place))
    return place


def mdreel(folder: Path, *words: str) -> str:
    command = [forked_python(), "-m", "mdreel.cli", *words]
    done = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True, timeout=LONGEST_SECONDS)
    return done.stdout


def column(path: Path, name: str) -> list[float]:
    text = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    return [float(row[name] if name in row else row[f"{name}_angstrom"]) for row in csv.DictReader(text)]


def first(values: list[float], is_met: Callable[[float], bool], n_frames: int = 1, n_needed: int = 1) -> int:
    """Return the first frame at which enough of the last frames meet a condition."""
    ends = range(n_frames, len(values) + 1)
    return next(end - 1 for end in ends if sum(map(is_met, values[end - n_frames : end])) >= n_needed)


def test_rules_see_the_values_of_the_tables(tmp_path: Path, folder: Path) -> None:
    datafiles = pytest.importorskip("MDAnalysisTests.datafiles")
    psf, dcd = str(datafiles.PSF), str(datafiles.DCD)
    mdreel(
        tmp_path, "helices", "-s", psf, "-f", dcd, "--segment", "13:24", "--segment", "31:40", "--pairs", "-o", "h.csv"
    )
    centre = column(tmp_path / "h.csv", "helix_1_2")[0]
    rules = RULES.replace("CENTRE - 15", str(centre - 15)).replace("CENTRE + 15", str(centre + 15))
    (tmp_path / "rules.toml").write_text(rules)
    mdreel(tmp_path, "produce", dcd, "--channel", "run1", "--slots", "128", "-q")
    done = run_steer(tmp_path, "rules.toml", "-s", psf, "--channel", "run1")
    assert done.returncode == 0, done.stderr
    log = folder / "run1" / "steering.jsonl"
    warning, summary = done.stderr.splitlines()
    assert "the run ended at" in warning
    assert summary == f"98 frames, 5 firings, 5 actions done, 0 failed: {log}"

    from mdreel.analysis.correlation import statistical_inefficiency

    rmsd, helices = column(tmp_path / "rmsd.csv", "rmsd"), column(tmp_path / "helices.csv", "helix_1_2")
    core, contacts = column(tmp_path / "core.csv", "rmsd_group_1"), tmp_path / "contacts.csv"
    share = next(line for line in contacts.read_text().splitlines() if line.startswith("frame,")).split(",")[2]
    expected = {
        "open": first(rmsd, lambda value: value > 4),
        "apart": first(core, lambda value: value > 8, 10, 7),
        "few": first(column(contacts, share), lambda value: value < 0.9),
        "turned": first(helices, lambda value: abs(value - centre) > 15),
        "sampled": next(i for i in range(49, 98) if 50 / statistical_inefficiency(rmsd[i - 49 : i + 1]) >= 2),
    }
    assert {name: frame for event, name, _, frame in events(log) if event == "fired"} == expected
    for line in lines_of(log):
        if line["rule"] == "open":
            assert line["values"]["rmsd"] == pytest.approx(rmsd[expected["open"]], abs=1e-5)
    # What is seen of them are the tables, too.
    (seen,) = json.loads(mdreel(tmp_path, "watch", "run1", "--once", "--json"))["channels"]
    columns = {tuple(name for name, _ in one["columns"]) for one in seen["analyses"]}
    assert columns >= {
        ("frame", "time", "helix_1_2"),
        ("frame", "time", "q"),
        ("frame", "time", "rmsd", "rmsd_group_1"),
    }
    assert len(columns) == len(seen["analyses"]) == 5
    mdreel(tmp_path, "channels", "run1", "--remove")
    assert not log.parent.exists()


def waiting(path: Path, n_lines: int) -> list[dict[str, object]]:
    """Wait until a log has a number of lines."""
    until = monotonic() + LONGEST_SECONDS
    while monotonic() < until:
        if path.exists() and len(found := path.read_text().splitlines()) >= n_lines:
            return [json.loads(line) for line in found]
        sleep(0.01)
    raise AssertionError(f"{path} did not get {n_lines} lines in time")


def test_engine_without_dashes_is_refused_with_the_remedy(tmp_path: Path) -> None:
    done = run_steer(tmp_path, "rules.toml", "-s", "top.gro", "--channel", "run", "gmx", "mdrun", "-deffnm", "md")
    assert done.returncode == 2
    assert "Write -- before the other command" in done.stderr


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interruption_is_logged_and_ends_what_is_waited_for(tmp_path: Path, number: signal.Signals, code: int) -> None:
    write_inputs(tmp_path)
    with simulate(tmp_path / "run1", 0, 5, "hang") as simulation:
        try:
            assert [said(simulation), said(simulation)] == ["open", "published"]
            words = ["rules.toml", "-s", "top.gro", "--channel", str(tmp_path / "run1"), "--log", "log.jsonl", "-q"]
            command = [sys.executable, "-m", "mdreel.cli", "steer", *words]
            with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as steering:
                waiting(tmp_path / "log.jsonl", 2)
                until = monotonic() + LONGEST_SECONDS
                while not ((tmp_path / "pid").exists() and (tmp_path / "pid").read_text().strip()):
                    assert monotonic() < until
                    sleep(0.01)
                steering.send_signal(number)
                assert steering.wait(LONGEST_SECONDS) == code
            log = lines_of(tmp_path / "log.jsonl")
            assert [line["event"] for line in log] == ["started", "fired", "failed", "ended"]
            assert log[-1]["message"] == "interrupted after 5 frames"
            with pytest.raises(ProcessLookupError):
                os.kill(int((tmp_path / "pid").read_text()), 0)
        finally:
            simulation.kill()


def test_log_that_cannot_be_made_is_an_error_of_output(tmp_path: Path) -> None:
    datafiles = pytest.importorskip("MDAnalysisTests.datafiles")
    (tmp_path / "rules.toml").write_text(
        '[[analysis]]\ntype = "rmsd"\n[[rule]]\nname = "any"\nanalysis = "rmsd"\nabove = 0\nactions = "stop"\n'
    )
    mdreel(tmp_path, "produce", str(datafiles.DCD), "--channel", "run1", "--slots", "128", "-q")
    words = ("rules.toml", "-s", str(datafiles.PSF), "--channel", "run1", "--log", "none/log.jsonl")
    done = run_steer(tmp_path, *words)
    warning, error = done.stderr.splitlines()
    assert "the run ended at" in warning
    assert (done.returncode, error) == (4, "mdreel: error: none/log.jsonl: No such file or directory")
    # A stop that comes too late has failed, and the exit code says so.
    done = run_steer(tmp_path, *words[:-1], "log.jsonl", "-q")
    assert done.returncode == 4
    assert done.stderr.endswith("\nmdreel: error: log.jsonl: 1 action has failed\n")
    assert "the simulation ended (finished)" in lines_of(tmp_path / "log.jsonl")[2]["message"]
