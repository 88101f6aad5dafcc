"""MPI on several hosts: the bits of one thread, and errors that say where."""

import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from MDAnalysisTests.datafiles import PSF

from mdreel.timing.spans import KINDS
from mdreel_lab.bench.rigs.hosts import IN_TIME, Host, wait_until
from mpi_launcher import EVERY_MPI, GLOBAL_ARRAYS, MPICH, Launcher, needs
from rmsd_on_ranks import Wanted, command, expected_of, results_of, spans_of

N_RANKS = 3
PLACES = "anna:2,bert:1"

N_BYTES = 1_000_000
NODES = f"""
from mpi4py import MPI
from mdreel_lab.bench.rigs.links import received_bytes
ranks = MPI.COMM_WORLD
sizes = ranks.gather(ranks.Split_type(MPI.COMM_TYPE_SHARED).size)
before = received_bytes()
ranks.Barrier()
ranks.gather(bytes({N_BYTES}))
if sizes is not None:
    print([sizes, received_bytes() - before])
"""

ASK = """
import sys, time
from pathlib import Path
from mpi4py import MPI
from mdreel.execution.executors.mpi.progress_thread import progress_thread
from mdreel.execution.executors.mpi.shared_counters import SharedCounters

def wait_for(path):
    while not path.exists():
        time.sleep(0.005)

computes, is_answered = map(Path, sys.argv[1:])
ranks = MPI.COMM_WORLD
board = SharedCounters(ranks, 1)
if ranks.rank == 2:
    wait_for(computes)
    board.take(1)
    is_answered.touch()
elif ranks.rank == 0:
    with progress_thread(ranks):
        computes.touch()
        wait_for(is_answered)
ranks.Barrier()
board.close()
"""


def on_hosts(mpi: Launcher, hosts: list[Host]) -> Launcher:
    """The launcher as it is started on the first host, to start two ranks there and one on the second."""
    shell = str(hosts[0].remote_shell)
    if mpi.name == MPICH.name:
        options: tuple[str, ...] = ("-launcher", "ssh", "-launcher-exec", shell, "-iface", "eth0", "-hosts", PLACES)
        variables = {"UCX_TLS": "tcp,self"}  # UCX would use shared memory between hosts of one kernel
    else:
        memory = "vader" if mpi.name == GLOBAL_ARRAYS.name else "sm"  # of version 4, and of version 5
        way = ("--mca", "pml", "ob1", "--mca", "btl", f"self,{memory},tcp", "--mca", "btl_tcp_if_include", "eth0")
        # Ranks that wait leave the cores, of which the hosts have only those of one machine.
        options = (*way, "--mca", "mpi_yield_when_idle", "1", "--host", PLACES)
        variables = {"PRTE_MCA_plm_ssh_agent": shell, "PRTE_MCA_prte_if_include": "eth0"}
        variables |= {"OMPI_MCA_plm_rsh_agent": shell, "OMPI_MCA_oob_tcp_if_include": "eth0"}  # of version 4
    program, *entrance = hosts[0].command(*IN_TIME, mpi.program)
    return replace(
        mpi.unforked(),  # a server would fork them on its own host
        program=Path(program),
        options=(*entrance, *mpi.options, *options),
        variables={
            **mpi.variables,
            **variables,
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            # Where Open MPI has folders named by process numbers, which are other hosts' numbers too.
            "TMPDIR": str(hosts[0].remote_shell.parent),
        },
    )


def start(mpi: Launcher, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    line = mpi.command(N_RANKS, *map(str, arguments))
    return subprocess.run(line, capture_output=True, text=True, env=mpi.environment)


@EVERY_MPI
def test_every_rank_has_the_bits_of_one_thread(
    hosts: list[Host], adk: dict[str, Path], tmp_path: Path, mpi: Launcher
) -> None:
    there = on_hosts(mpi, hosts)
    # Else nothing would be put through the network.
    sizes, n_received = json.loads(start(there, "-c", NODES).stdout)
    assert sorted(sizes) == [1, 2, 2]
    assert n_received > N_BYTES
    runs = [
        Wanted([str(adk[suffix])], schedule, communication, repeats=300)
        for suffix, schedule, communication in (
            ("dcd", "demand", "window"),
            ("xtc", "demand", "gather"),
            ("xtc", "static", "window"),
        )
    ]
    expected = {suffix: expected_of(Wanted([str(adk[suffix])], repeats=300)) for suffix in adk}
    found = results_of(there, N_RANKS, tmp_path, runs)
    assert found == [[expected[Path(wanted.paths[0]).suffix[1:]]] * N_RANKS for wanted in runs]


@EVERY_MPI
@pytest.mark.parametrize("communication", ["gather", "window"])
def test_command_line_has_the_numbers_of_one_thread(
    hosts: list[Host], adk: dict[str, Path], tmp_path: Path, mpi: Launcher, communication: str
) -> None:
    alone, together = tmp_path / "alone.csv", tmp_path / "together.csv"
    arguments = ("-m", "mdreel.cli", "rmsd", "-s", PSF, "-f", adk["xtc"], "-q", "-o")
    subprocess.run([sys.executable, *arguments, alone, "--backend", "serial"], check=True, timeout=120)
    done = start(on_hosts(mpi, hosts), *arguments, together, "--communication", communication)
    assert done.returncode == 0, done.stderr
    numbers = [re.sub(r"(?m)^#.*\n", "", path.read_text()) for path in (alone, together)]
    assert len(numbers[0].splitlines()) == 99
    assert numbers[0] == numbers[1]


@needs(GLOBAL_ARRAYS)
def test_open_mpi_4_needs_one_thread_for_windows(hosts: list[Host], adk: dict[str, Path], tmp_path: Path) -> None:
    there, output = on_hosts(GLOBAL_ARRAYS, hosts), tmp_path / "rmsd.csv"
    passed = ("-x", "PYTHONPATH", "-x", "MPI4PY_RC_THREAD_LEVEL")
    arguments = (
        "-m",
        "mdreel.cli",
        "rmsd",
        "-s",
        PSF,
        "-f",
        adk["xtc"],
        "-q",
        "--communication",
        "window",
        "-o",
        output,
    )
    for level, code in (("multiple", 3), ("serialized", 0)):
        variables = {**there.variables, "MPI4PY_RC_THREAD_LEVEL": level}
        done = start(replace(there, options=(*there.options, *passed), variables=variables), *arguments)
        assert done.returncode == code, done.stderr
        assert ("set MPI4PY_RC_THREAD_LEVEL=serialized on all of them" in done.stderr) == bool(code), done.stderr
        assert "Traceback" not in done.stderr
        assert output.exists() == (code == 0)


@EVERY_MPI
def test_rank_that_computes_answers_those_of_other_hosts(hosts: list[Host], tmp_path: Path, mpi: Launcher) -> None:
    """They would have to wait until it calls MPI."""
    done = start(on_hosts(mpi, hosts), "-c", ASK, tmp_path / "computes", tmp_path / "is-answered")
    assert done.returncode == 0, done.stderr


@EVERY_MPI
def test_spans_of_hosts_are_on_one_clock(
    hosts: list[Host], adk: dict[str, Path], tmp_path: Path, mpi: Launcher
) -> None:
    """Their own clocks are days apart."""
    results_of(on_hosts(mpi, hosts), N_RANKS, tmp_path, [Wanted([str(adk["xtc"])], "static", repeats=300)])
    spans = spans_of(tmp_path)
    computing = spans[spans["kind"] == KINDS.index("compute")]
    assert set(computing["worker"]) == set(range(N_RANKS))
    assert computing["n_frames"].sum() == 300 * 98
    assert computing["start_ns"].min() > 0
    assert spans["stop_ns"].max() < 3600e9


@EVERY_MPI
def test_host_that_does_not_see_the_file_is_named(
    hosts: list[Host], adk: dict[str, Path], tmp_path: Path, mpi: Launcher
) -> None:
    output = tmp_path / "rmsd.csv"
    arguments = ("-m", "mdreel.cli", "rmsd", "-s", PSF, "-f", adk["dcd"], "-q", "-o", output)
    with hosts[1].hiding(adk["dcd"].parent):
        done = start(on_hosts(mpi, hosts), *arguments)
    assert done.returncode == 3, done.stderr
    path = re.escape(str(adk["dcd"]))
    message = rf"^mdreel: error: rank 2 \(bert\) cannot begin: FileNotFoundError: .*'{path}'$"
    assert len(re.findall(message, done.stderr, re.MULTILINE)) == 1, done.stderr
    assert "Traceback" not in done.stderr
    assert not output.exists()


@EVERY_MPI
def test_rank_that_is_killed_on_another_host_ends_all(
    hosts: list[Host], adk: dict[str, Path], tmp_path: Path, mpi: Launcher
) -> None:
    there = on_hosts(mpi, hosts)
    checkpoint = tmp_path / "run.checkpoint"
    runs = [Wanted([str(adk["xtc"])], n_parts=300, repeats=300, checkpoint=str(checkpoint))]
    with subprocess.Popen(
        command(there, N_RANKS, tmp_path, runs),
        env=there.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        wait_until(lambda: checkpoint.exists() and checkpoint.stat().st_size > 300 * 98 * 24 // 10, process)
        victim = there.process_of(2, process.pid)
        assert victim is not None
        os.kill(victim, signal.SIGKILL)
    assert process.returncode not in (0, -signal.SIGKILL)
    assert results_of(there, N_RANKS, tmp_path, runs) == [[expected_of(runs[0])] * N_RANKS]
