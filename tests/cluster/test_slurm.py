"""Batch scripts for Slurm, run by a real Slurm with several nodes, which are all this machine."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from MDAnalysisTests.datafiles import PSF

from cluster.slurm_service import Slurm, reason_to_skip, running_slurm, wait_for
from file_sizes import file_sizes

pytestmark = pytest.mark.skipif(bool(reason_to_skip()), reason=reason_to_skip() or "Slurm is there")

N_FRAMES = 12_000


@pytest.fixture(scope="module")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slurm]:
    with running_slurm(tmp_path_factory.mktemp("slurm"), n_nodes=3) as slurm:
        yield slurm


class Script:
    """A script of ours in a folder of its own, and what comes of it."""

    def __init__(self, mdreel, folder: Path, environment: Path, words: list[str], *options: str) -> None:
        self.path = folder / "job.sh"
        job = ["--nodes", "2", "--time", "00:10:00", "--environment", environment, "--output-script", self.path]
        mdreel(folder, "cluster", "slurm", *job, *options, "--", "mdreel", *words)

    @property
    def log(self) -> str:
        return "\n".join(path.read_text() for path in sorted(self.path.parent.glob("*.log")))

    @property
    def bytes_kept(self) -> int:
        return sum(file_sizes(self.path.parent, "rmsd.csv.checkpoint*"))

    def wait_for_more(self, than: int) -> int:
        """Wait until the checkpoint of a running job has grown by some parts; return to how many bytes."""

        def found() -> int:
            kept = self.bytes_kept
            return kept if kept > than + 10_000 else 0

        return wait_for(found, "parts", lambda: self.log)


@pytest.mark.parametrize("launcher", ["pmi2", "mpirun"])
def test_job_gives_the_bits_of_one_process(slurm, mdreel, environment, adk, tmp_path, launcher):
    words, expected = adk
    script = Script(mdreel, tmp_path, environment, words, "--ntasks-per-node", "2", "--launcher", launcher)
    job = slurm.submit(script.path)
    assert slurm.wait_for_end(job) == "COMPLETED", script.log
    assert (tmp_path / "rmsd.csv").read_bytes() == expected
    assert sorted(path.name for path in tmp_path.iterdir()) == ["job.sh", f"mdreel-rmsd-{job}.log", "rmsd.csv"]
    assert slurm.facts(job)["NumNodes"] == "2"
    assert "98 frames" in script.log


def test_job_goes_on_where_it_was_whatever_has_ended_it(slurm, mdreel, environment, long_run, tmp_path):
    words, expected = long_run
    script = Script(mdreel, tmp_path, environment, words, "--ntasks-per-node", "1", "--launcher", "pmi2")
    job = slurm.submit(script.path)

    script.wait_for_more(0)
    slurm.command("scontrol", "requeue", job)  # as when a node fails, or a job with precedence comes
    slurm.wait_for_state(job, "PENDING")
    # What the job has kept while it was ending does not count.
    script.wait_for_more(script.bytes_kept)
    slurm.command("scancel", "--signal=USR1", "--batch", job)  # as when the time is nearly over
    slurm.wait_for_state(job, "PENDING")
    assert slurm.facts(job)["Restarts"] == "2"
    assert "the job is requeued and continues from rmsd.csv.checkpoint" in script.log
    kept = script.wait_for_more(script.bytes_kept)
    assert slurm.kill_step(job, 1) == "FAILED"  # the second step: the first has looked at the nodes
    assert script.bytes_kept >= kept

    assert slurm.wait_for_end(slurm.submit(script.path)) == "COMPLETED", script.log
    assert (tmp_path / "rmsd.csv").read_bytes() == expected
    assert script.bytes_kept == 0
    (n_frames,) = re.findall(r"([\d,]+) frames (?:in|on) ", script.log)
    assert 0 < int(n_frames.replace(",", "")) < N_FRAMES
    assert "Traceback" not in script.log


def test_job_starts_nothing_where_a_node_cannot_read_the_trajectory(slurm, mdreel, environment, tmp_path):
    words = ["rmsd", "-s", PSF, "-f", "else where.dcd"]
    script = Script(mdreel, tmp_path, environment, words, "--ntasks-per-node", "1")
    assert slurm.wait_for_end(slurm.submit(script.path)) == "FAILED"
    assert script.log.count(": else where.dcd cannot be read") == 2
    assert "nothing was started" in script.log
