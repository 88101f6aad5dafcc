"""Batch scripts that copy the trajectory to the nodes: bash runs them, on this machine and on hosts of their own."""

import os
import re
import shutil
import subprocess
import sysconfig
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from MDAnalysisTests.datafiles import DCD, PSF, XTC

from cluster.slurm_service import reason_to_skip, running_slurm
from mdreel.cluster.stage_in import StageIn
from mdreel.errors import MismatchError
from mdreel_lab.bench.rigs.hosts import Host, network_hosts, why_there_are_none

MPIRUN = shutil.which("mpirun", path=sysconfig.get_path("scripts"))
NEEDS_MPIRUN = pytest.mark.skipif(MPIRUN is None, reason="mpirun of the mpich wheel is not installed")
NEEDS_HOSTS = pytest.mark.skipif(why_there_are_none() is not None, reason=str(why_there_are_none()))
N_PARTS = 4


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory, mdreel) -> tuple[list[str], bytes]:
    """Options that name the segments of a trajectory, and the table that one process makes."""
    folder = tmp_path_factory.mktemp("parts of a trajectory")
    source = tmp_path_factory.mktemp("whole") / "adk.xtc"
    mdreel(folder, "convert", "-f", DCD, "-o", source)
    mdreel(folder, "split", "-f", source, "-o", folder / "part.xtc", "--n-parts", str(N_PARTS))
    files = sorted(map(str, folder.glob("part-*.xtc")))
    assert len(files) == N_PARTS
    words = ["rmsd", "-s", PSF, "--select", "name CA", "-o", "rmsd.csv", "-f", *files]
    expected = tmp_path_factory.mktemp("expected")
    mdreel(expected, *words, "--backend", "serial")
    return words, (expected / "rmsd.csv").read_bytes()


def write(mdreel, folder: Path, environment: Path, words: list[str], *options: str, scheduler: str = "pbs") -> Path:
    script = folder / "job.sh"
    job = ["--environment", environment, "--output-script", script, *options]
    mdreel(folder, "cluster", scheduler, *job, "--", "mdreel", *words)
    return script


def submit(script: Path, path: str = "", **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a script for PBS as PBS does."""
    environment = {**os.environ, "PBS_O_WORKDIR": str(script.parent), **variables}
    environment["PATH"] = f"{path}:{os.environ['PATH']}"
    return subprocess.run(["bash", script], cwd="/", env=environment, capture_output=True, text=True, timeout=120)


@NEEDS_MPIRUN
def test_ranks_read_the_copies_which_are_gone_afterwards(mdreel, environment, parts, tmp_path):
    words, expected = parts
    (tmp_path / "node").mkdir()
    folder = "$SCRATCH/my node"
    (tmp_path / "node" / "my node").mkdir()
    job = ("--nodes", "1", "--ntasks-per-node", "2", "--stage-in", folder)
    script = write(mdreel, tmp_path, environment, [*words, "--timing", "run.jsonl"], *job)
    done = submit(script, SCRATCH=str(tmp_path / "node"))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "rmsd.csv").read_bytes() == expected
    size = sum(Path(path).stat().st_size for path in words[-N_PARTS:])
    assert f"{size} of {size} bytes of the trajectory were copied" in done.stderr
    assert f"{tmp_path}/node/my node/mdreel-" in (tmp_path / "run.jsonl").read_text()
    assert list((tmp_path / "node" / "my node").iterdir()) == []


@NEEDS_MPIRUN
def test_job_that_fails_leaves_no_copies(mdreel, environment, parts, tmp_path):
    (tmp_path / "node").mkdir()
    words = [*parts[0], "--start", "5", "--stop", "1000000"]
    script = write(
        mdreel, tmp_path, environment, words, "--nodes", "1", "--ntasks-per-node", "2", "--stage-in", "$SCRATCH"
    )
    script.write_text(script.read_text().replace(" --select ", " --select-nothing "))
    done = submit(script, SCRATCH=str(tmp_path / "node"))
    assert done.returncode != 0
    assert "bytes of the trajectory were copied" in done.stderr
    assert list((tmp_path / "node").iterdir()) == []


@NEEDS_MPIRUN
@pytest.mark.parametrize(
    ("folder", "message"),
    [
        ("$NO_SUCH_VARIABLE_OF_A_JOB", "the job has no such variable (--stage-in)"),
        ("/nowhere/at/all", "--stage-in needs a folder that each node has for itself"),
    ],
)
def test_folder_that_is_not_there_is_named_before_the_analysis(mdreel, environment, parts, tmp_path, folder, message):
    job = ("--nodes", "1", "--ntasks-per-node", "2", "--stage-in", folder)
    done = submit(write(mdreel, tmp_path, environment, parts[0], *job))
    assert done.returncode == 1
    assert message in done.stderr
    assert not (tmp_path / "rmsd.csv").exists()


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[tuple[list[Host], Path]]:
    """Two hosts, and a folder that each of them has for itself, with 8 MiB."""
    (tmp_path / "hosts").mkdir()
    own = tmp_path / "own"
    own.mkdir()
    with network_hosts(["anna", "bert"], tmp_path / "hosts") as hosts, ExitStack() as stack:
        for host in hosts:
            stack.enter_context(host.hiding(own))
            host.run("mount", "-o", "remount,size=8M", own, check=True)
        yield hosts, own


def submit_on(hosts: list[Host], script: Path) -> subprocess.CompletedProcess[str]:
    """Run a script for PBS on the first host; mpirun starts the ranks on both hosts, as with PBS."""
    programs = script.parent / "programs"
    programs.mkdir()
    mpirun = programs / "mpirun"
    options = f"-launcher ssh -launcher-exec {hosts[0].remote_shell} -iface eth0 -hosts anna:2,bert:2"
    mpirun.write_text(f'#!/bin/sh\nexec {MPIRUN} {options} "$@"\n')
    mpirun.chmod(0o755)
    text = script.read_text().replace("mpirun -n", f"{mpirun} -n")  # the environment puts its own in front
    script.write_text(text)
    variables = ("env", f"PBS_O_WORKDIR={script.parent}")
    return hosts[0].run(*variables, "bash", script, timeout=150)


@NEEDS_MPIRUN
@NEEDS_HOSTS
def test_each_node_copies_the_files_of_its_ranks(mdreel, environment, parts, nodes, tmp_path):
    (hosts, own), (words, expected) = nodes, parts
    job = ("--nodes", "2", "--ntasks-per-node", "2", "--stage-in", str(own))
    script = write(mdreel, tmp_path, environment, words, *job)
    assert "--schedule static" in script.read_text()
    done = submit_on(hosts, script)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "rmsd.csv").read_bytes() == expected
    sizes = [Path(path).stat().st_size for path in words[-N_PARTS:]]
    for host, copied in (("anna", sizes[:2]), ("bert", sizes[2:])):
        assert f"{host}: {sum(copied)} of {sum(sizes)} bytes of the trajectory were copied" in done.stderr
    for host in hosts:
        assert host.run("ls", "-A", own, check=True).stdout == ""


@NEEDS_MPIRUN
@NEEDS_HOSTS
def test_node_without_room_is_named_and_nothing_is_left(mdreel, environment, nodes, tmp_path):
    hosts, own = nodes
    large = tmp_path / "large.xtc"
    large.write_bytes(Path(XTC).read_bytes() * (1 + (9 << 20) // Path(XTC).stat().st_size))
    words = ["rmsd", "-s", PSF, "-f", str(large), "-o", "rmsd.csv"]
    job = ("--nodes", "2", "--ntasks-per-node", "2", "--stage-in", str(own))
    done = submit_on(hosts, write(mdreel, tmp_path, environment, words, *job))
    assert done.returncode == 1
    message = rf"bert: the copies of the trajectory need {large.stat().st_size} bytes, and \S+ has \d+: choose another"
    assert re.search(message, done.stderr), done.stderr
    assert not (tmp_path / "rmsd.csv").exists()
    for host in hosts:
        assert host.run("ls", "-A", own, check=True).stdout == ""


@NEEDS_MPIRUN
@NEEDS_HOSTS
def test_folder_that_nodes_share_is_refused(mdreel, environment, parts, nodes, tmp_path):
    (tmp_path / "of all").mkdir()
    job = ("--nodes", "2", "--ntasks-per-node", "2", "--stage-in", str(tmp_path / "of all"))
    done = submit_on(nodes[0], write(mdreel, tmp_path, environment, parts[0], *job))
    assert done.returncode == 1
    assert "cannot be created: --stage-in needs a folder that each node has for itself" in done.stderr
    assert list((tmp_path / "of all").iterdir()) == []


@pytest.mark.skipif(bool(reason_to_skip()), reason=reason_to_skip() or "Slurm is there")
def test_job_of_slurm_reads_the_copies(mdreel, environment, parts, tmp_path, tmp_path_factory):
    """Use this machine as the node of Slurm."""
    words, expected = parts
    (tmp_path / "node").mkdir()
    job = ("--nodes", "1", "--ntasks-per-node", "2", "--launcher", "pmi2", "--stage-in", str(tmp_path / "node"))
    script = write(mdreel, tmp_path, environment, words, *job, scheduler="slurm")
    with running_slurm(tmp_path_factory.mktemp("slurm"), n_nodes=1) as slurm:
        number = slurm.submit(script)
        state = slurm.wait_for_end(number)
    log = "\n".join(path.read_text() for path in tmp_path.glob("*.log"))
    assert state == "COMPLETED", log
    assert (tmp_path / "rmsd.csv").read_bytes() == expected
    assert "bytes of the trajectory were copied" in log
    assert list((tmp_path / "node").iterdir()) == []


@pytest.mark.parametrize("folder", ["", "scratch", "./scratch", "$(id)", "$TMPDIR$HOME", "~/scratch"])
def test_folder_of_another_form_is_refused(folder):
    with pytest.raises(MismatchError, match="absolute path, or a variable"):
        StageIn(folder, (), ())


def test_folder_is_quoted():
    assert StageIn("/a b/$(id)", (), ()).parent == "'/a b/$(id)'"
