"""What a fresh interpreter does: imports little, and hears Ctrl-C."""

import signal
import subprocess
import sys
import textwrap
import time

HEAVY = ("MDAnalysis", "rich", "matplotlib", "click", "scipy", "pyarrow", "hypothesis")
HEAVY += ("pandas", "polars", "xarray", "openpyxl")

RUN = """
import sys, time
import numpy as np
from mdreel._core import FrameSet, Pass, Source, rmsd
from mdreel.execution.executors.resolve_executor import find_executor
from mdreel.execution.job import Job
from mdreel.execution.work import Work
from mdreel._core import plan

positions = np.random.default_rng(1).normal(size=(100, 3_000, 3)).astype(np.float32)
source = Source.memory(positions, np.zeros(100))
kernel = Pass.of(rmsd(positions[0].astype(np.float64), None, True))
frames = FrameSet.list(np.arange(100, dtype=np.uint64).repeat(100_000))
job = Job(source, np.arange(3_000, dtype=np.uint32), kernel)
executor = find_executor(sys.argv[1])
try:
    blocks = plan(source, frames, None, executor.n_workers)
    executor.run(Work(job, blocks, monitor=lambda done: print(done, flush=True)))
except KeyboardInterrupt:
    print("interrupted", time.clock_gettime(time.CLOCK_MONOTONIC), flush=True)
"""


def test_import_leaves_out_what_takes_long() -> None:
    code = f"import sys, mdreel; mdreel.RMSD; print([name for name in {HEAVY} if name in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert found.strip() == "[]"


def test_run_imports_no_other_executor() -> None:
    code = """
        import sys
        from mdreel.execution.executors.resolve_executor import find_executor
        find_executor("threads")
        import mdreel.execution.pipeline
        others = ("dask.executor", "mpi.executor", "local.processes", "coordinator", "local.serial")
        print([name for name in others if f"mdreel.execution.executors.{name}" in sys.modules])
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == "[]"


def interrupt(backend: str) -> float:
    """Seconds from Ctrl-C in the middle of a run of minutes to its KeyboardInterrupt."""
    with subprocess.Popen([sys.executable, "-c", RUN, backend], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline().strip().isdigit()
        sent = time.clock_gettime(time.CLOCK_MONOTONIC)
        process.send_signal(signal.SIGINT)
        words = process.stdout.read().splitlines()[-1].split()
    assert words[0] == "interrupted"
    assert process.returncode == 0
    return float(words[1]) - sent


def test_run_stops_on_ctrl_c() -> None:
    # It takes 0.06 s; the bound is what a machine with many other things to do may need.
    for backend in ("serial", "threads"):
        assert interrupt(backend) < 5.0
