"""``mdreel predict``: what it prints was simulated, and says so."""

import csv
from pathlib import Path

import pytest

QUICK = ("predict", "--ranks", "1,24,48", "--repeats", "2")


def test_help_gives_examples(run) -> None:
    answer = run("predict", "--help")
    assert answer.returncode == 0
    assert "mdreel predict --table" in answer.stdout


def test_schemes_are_printed_as_simulated_with_what_was_published(run) -> None:
    answer = run(*QUICK, "--scheme", "segments-global-arrays", "--scheme", "mdreel")
    assert answer.returncode == 0, answer.stderr
    lines = answer.stdout.splitlines()
    assert lines[0] == "Simulated, not measured: SDSC Comet with the software of 2019"
    assert "segments-global-arrays: a file for each rank, global array" in lines
    row = next(line.split() for line in lines if line.split()[:1] == ["24"])
    assert row[-1] == "22.7"
    assert float(row[2]) == pytest.approx(22.7, rel=0.15)
    assert sum(line.split()[:1] == ["48"] for line in lines) == 2


def test_tables_and_figures_say_that_they_are_simulated(run, tmp_path: Path) -> None:
    answer = run(*QUICK, "--scheme", "shared-gather", "-o", "out.csv", "--plot", "out.svg")
    assert answer.returncode == 0, answer.stderr
    with (tmp_path / "out.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["ranks"] for row in rows] == ["1", "24", "48"]
    assert set(rows[0]) == {
        "ranks",
        "simulated_t_total_shared_gather_s",
        "simulated_speedup_shared_gather",
        "simulated_efficiency_shared_gather",
        "simulated_slow_share_shared_gather",
    }
    assert float(rows[0]["simulated_speedup_shared_gather"]) == pytest.approx(1.0)
    picture = (tmp_path / "out.svg").read_text(encoding="utf-8")
    assert "Simulated, not measured" in picture
    assert "published (Comet, 2019)" in picture


def test_one_seed_prints_one_thing(run) -> None:
    first, again, other = (run(*QUICK, "--scheme", "shared-gather", "--seed", seed).stdout for seed in "001")
    assert first == again
    assert first != other


def test_other_numbers_change_the_prediction(run) -> None:
    arguments = ("predict", "--ranks", "72", "--scheme", "shared-gather", "--repeats", "3")
    as_is, undisturbed = (
        float(run(*arguments, *more).stdout.splitlines()[-1].split()[2])
        for more in ((), ("--set", "storage.stall_probability=0"))
    )
    assert undisturbed > 1.5 * as_is


def test_longer_trajectories_and_more_computation_are_simulated(run) -> None:
    arguments = ("predict", "--ranks", "1", "--scheme", "shared-gather", "--repeats", "1")
    times = [
        float(run(*arguments, *more).stdout.splitlines()[-1].split()[1])
        for more in ((), ("--frames", "5024400"), ("--workload", "40"), ("--workload", "2"))
    ]
    assert times == pytest.approx([1027, 2055, 9446, 1253], rel=0.01)


def test_fewer_ranks_are_slow_when_computing_takes_most_of_the_time(run) -> None:
    arguments = ("predict", "--ranks", "72", "--scheme", "shared-gather", "--repeats", "5")
    rows = [run(*arguments, "--ratio", ratio).stdout.splitlines()[-1].split() for ratio in ("0.3", "11", "100")]
    efficiencies, slow = ([float(row[column]) for row in rows] for column in (4, 5))
    assert efficiencies == sorted(efficiencies)
    assert all(0 <= share <= 1 for share in slow)
    assert slow[0] > slow[2] == 0


def test_record_of_a_run_says_what_a_frame_takes(run, adk: dict[str, Path]) -> None:
    made = run(
        "rmsd", "-s", adk["psf"], "-f", adk["xtc"], "-o", "rmsd.csv", "--backend", "serial", "--timing", "run.jsonl"
    )
    assert made.returncode == 0, made.stderr
    answer = run("predict", "--calibrate", "run.jsonl", "--frames", "100000", "--ranks", "1,24", "--scheme", "mdreel")
    assert answer.returncode == 0, answer.stderr
    assert "published" not in answer.stdout.splitlines()[-1]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--scheme", "magic"), 2, "unknown scheme 'magic'; known: shared-gather,"),
        (("--ranks", "many"), 2, "--ranks many: must be positive integers"),
        (("--ranks", "0,5"), 2, "--ranks 0,5: must be positive integers"),
        (("--ranks", ""), 2, "must be positive integers"),
        (("--ranks", "99999999"), 2, "99,999,999 ranks cannot be simulated"),
        (("--ranks", "8", "--frames", "4"), 2, "8 ranks cannot be simulated: 1 to 4 for 4 frames"),
        (("--cluster", "mars"), 3, "cluster"),
        (("--cluster", "mars.toml"), 3, "mars.toml: No such file or directory"),
        (("--set", "speed"), 2, "--set speed: must have the form NAME=NUMBER"),
        (("--set", "storage.speed=3"), 2, "unknown parameter of a cluster 'storage.speed'"),
        (("--set", "storage.open_s=-3"), 2, "open_s must be more than 0"),
        (("--calibrate", "none.jsonl"), 3, "none.jsonl"),
        (("-o", "out.doc"), 2, "known endings of tables"),
        (("--plot", "nowhere/out.png"), 4, "nowhere"),
        (("--table", "a.md", "-o", "b.csv"), 2, "--table excludes --output and --plot"),
        (("--ratio", "11", "--workload", "40"), 2, "--ratio excludes --workload"),
        (("--ratio", "-1"), 2, "its R_comp/io is 0.28"),
    ],
)
def test_wrong_use_is_one_line_and_leaves_nothing(
    run, tmp_path: Path, arguments: tuple[str, ...], code: int, message: str
) -> None:
    answer = run("predict", *arguments)
    assert answer.returncode == code, answer.stderr
    assert message in answer.stderr
    assert len(answer.stderr.splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_outputs_are_not_replaced_unasked(run, tmp_path: Path) -> None:
    (tmp_path / "errors.md").write_text("mine", encoding="utf-8")
    answer = run("predict", "--table", "errors.md")
    assert answer.returncode == 2
    assert "exists already" in answer.stderr
    assert (tmp_path / "errors.md").read_text(encoding="utf-8") == "mine"


def test_table_of_errors_is_written(run, tmp_path: Path) -> None:
    answer = run("predict", "--table", "errors.md", "--repeats", "2")
    assert answer.returncode == 0, answer.stderr
    assert "93 points, median error of S(N)" in answer.stderr
    assert (tmp_path / "errors.md").read_text(encoding="utf-8").count("\n| ") >= 93
