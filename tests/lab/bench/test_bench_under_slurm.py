"""Benchmarks in a job of a real Slurm, whose three nodes are hosts with a network of their own."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster.slurm_service import Slurm, reason_to_skip, running_slurm
from mdreel_lab.bench.plans import plan_of
from mdreel_lab.bench.records import DONE, LEFT_OUT, Kept
from mdreel_lab.bench.rigs.hosts import network_hosts, why_there_are_none
from mpi_launcher import MPICH, needs

pytestmark = [
    pytest.mark.skipif(bool(reason_to_skip()), reason=reason_to_skip() or "Slurm is there"),
    needs(MPICH),
]

SCENARIO = """
title = "In a job"
workload = "{workload}"

[small]
factor = 0.02
workers = [3, 4]

[[grid]]
executor = "mpi"
"""

SCRIPT = """\
#!/bin/sh
#SBATCH --nodes=3
#SBATCH --ntasks-per-node=1
#SBATCH --output={folder}/log
exec {python} -m mdreel.cli bench run {folder}/rmsd.toml {folder}/split.toml -o {folder}/results --data {data} {options}
"""


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slurm]:
    if why_not := why_there_are_none():
        pytest.skip(why_not)
    with (
        network_hosts(["anna", "bert", "cara"], tmp_path_factory.mktemp("hosts")) as hosts,
        running_slurm(tmp_path_factory.mktemp("slurm"), 3, hosts) as slurm,
    ):
        yield slurm


def run(slurm: Slurm, folder: Path, data: Path, *options: str) -> dict[str, list[Kept]]:
    """Run the scenarios in a job; return their records."""
    for name, workload in (("rmsd", "rmsd"), ("split", "split")):
        (folder / f"{name}.toml").write_text(SCENARIO.format(workload=workload))
    script = folder / "job.sh"
    words = " ".join(f"'{option}'" for option in options)
    script.write_text(SCRIPT.format(folder=folder, python=sys.executable, data=data, options=words))
    state = slurm.wait_for_end(slurm.submit(script))
    assert state == "COMPLETED", (folder / "log").read_text()
    return {name: plan_of(folder / "results", name)[2] for name in ("rmsd", "split")}


@pytest.fixture(autouse=True)
def paths(monkeypatch: pytest.MonkeyPatch, slurm: Slurm) -> None:
    """A job has the environment of the command that submits it."""
    slurm.environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))


def test_hosts_and_cores_are_those_of_the_job(slurm: Slurm, data: Path, tmp_path: Path) -> None:
    for three, four in run(slurm, tmp_path, data).values():
        assert (three.status, three.message) == (DONE, "")
        assert three.facts["hosts"] == three.facts["places"] == {"anna": 1, "bert": 1, "cara": 1}
        assert three.facts["n_cores"] == 3
        assert three.facts["allocation"].startswith("job ")
        assert three.facts["check"] > 0
        assert four.status == LEFT_OUT
        assert four.message == "4 workers are more than 1 for each of 3 cores (--oversubscribe allows more)"


def test_ranks_are_started_by_srun(slurm: Slurm, data: Path, tmp_path: Path) -> None:
    command = "srun --mpi=pmi2 --overlap -n {n} -N {nodes} -w {hosts}"
    for three, four in run(slurm, tmp_path, data, "--mpi-launcher", command).values():
        assert (three.status, three.message) == (DONE, "")
        assert three.facts["hosts"] == {"anna": 1, "bert": 1, "cara": 1}
        assert four.status == LEFT_OUT
