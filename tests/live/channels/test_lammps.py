"""Tests of the LAMMPS reporter."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import numpy as np
import pytest

import lammps_simulation
from architecture.checkout import ROOT
from imd_engines import LONG, argon, file_of, read_restart, written_by_lammps
from mdreel.errors import StreamError
from mdreel.live.channels.consumer import Consumer
from mdreel.live.channels.frame import Frame
from mdreel.live.channels.requests import FOLDER, Answer, send_request
from mdreel.live.channels.status import Status

EXAMPLE = ROOT / "examples" / "lammps_producer.py"
N_FRAMES = 100
INTERVAL = 5
ALL = {"velocities": True, "forces": True, "energies": ["temperature", "potential"], "dtype": "float64"}
WRITES_ENERGIES = (
    f"fix 9 all ave/time {INTERVAL} 1 {INTERVAL} c_thermo_temp c_thermo_pe file energies.txt format ' %.17g'"
)

Start = Callable[..., "Simulation"]


@pytest.fixture(autouse=True)
def _needs_lammps() -> None:
    file_of("lammps", "lammps/lmp")
    file_of("mpich", "libmpi.so.12")


class Simulation:
    """LAMMPS in a separate process that executes commands."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.process, self._input, self._output = process, process.stdin, process.stdout
        self.said = self._output.readline().strip()

    def run(self, n_steps: int) -> tuple[bool, int]:
        """Run a number of steps; return whether all were run, and the current step."""
        self.begin(n_steps)
        return self.done()

    def begin(self, n_steps: int) -> None:
        self._input.write(f"run {n_steps}\n")
        self._input.flush()

    def done(self) -> tuple[bool, int]:
        was_finished, step = json.loads(self._output.readline())
        return was_finished, step

    def end(self) -> None:
        self._input.close()
        assert self.process.wait(LONG) == 0


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start LAMMPS with argon or another input on the channel ``argon``."""
    with ExitStack() as stack:

        def started(
            script: str | None = None, checkpoint: str | Path = "argon.restart", **settings: object
        ) -> Simulation:
            (tmp_path / "in.argon").write_text(argon(tmp_path, INTERVAL) if script is None else script)
            words = ["argon", "in.argon", str(checkpoint), str(INTERVAL), json.dumps(settings)]
            command = [sys.executable, lammps_simulation.__file__, *words]
            process = subprocess.Popen(command, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            stack.callback(process.wait)
            stack.callback(process.kill)
            return Simulation(stack.enter_context(process))

        yield started


@pytest.fixture
def asking() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor() as threads:
        yield threads


def asked(asking: ThreadPoolExecutor, kind: str, **arguments: object) -> "Future[Answer]":
    """Send a request and return when its file exists."""
    channel = Status.read("argon").path
    said = asking.submit(send_request, channel, kind, arguments)
    until = monotonic() + LONG
    while not list((channel / FOLDER).glob("*.request")):
        assert monotonic() < until
        sleep(0.001)
    return said


def published() -> list[Frame]:
    with Consumer("argon") as frames:
        return [frame.copy() for frame in frames]


@pytest.mark.parametrize(
    ("units", "ps", "kilojoules"), [("metal", 1.0, 96.48533212331002), ("real", 0.001, 4.184)], ids=["metal", "real"]
)
def test_frames_on_the_channel_are_those_that_lammps_writes(
    start: Start, tmp_path: Path, units: str, ps: float, kilojoules: float
) -> None:
    simulation = start(argon(tmp_path, INTERVAL, units) + WRITES_ENERGIES, **ALL)
    assert simulation.said == "ready"
    # However the steps are cut, frames are those of the steps that the interval divides.
    for n_steps in (1, 3, 250, 46, INTERVAL * N_FRAMES - 300):
        was_finished, step = simulation.run(n_steps)
        assert was_finished
    assert step == INTERVAL * N_FRAMES
    simulation.end()
    frames, written = published(), written_by_lammps(tmp_path)
    assert Status.read("argon").state == "finished"
    assert [frame.step for frame in frames] == written.steps == [*range(INTERVAL, step + 1, INTERVAL)]
    np.testing.assert_allclose([frame.time for frame in frames], 0.002 * np.array(written.steps), rtol=1e-12)
    np.testing.assert_allclose([frame.box for frame in frames], written.boxes, rtol=1e-12)
    np.testing.assert_array_equal([frame.positions for frame in frames], written.positions)
    np.testing.assert_allclose([frame.velocities for frame in frames], written.velocities / ps, rtol=1e-15)
    np.testing.assert_allclose([frame.forces for frame in frames], written.forces * kilojoules, rtol=1e-15)
    rows = np.loadtxt(tmp_path / "energies.txt")[1:]  # the first is that before the first step
    assert rows[:, 0].tolist() == written.steps
    np.testing.assert_allclose([frame.energies for frame in frames], rows[:, 1:] * [1.0, kilojoules], rtol=1e-12)


@pytest.mark.parametrize("boundary", ["p p p", "s s s"])
def test_positions_may_be_those_in_the_cell_and_there_may_be_none(start: Start, tmp_path: Path, boundary: str) -> None:
    script = argon(tmp_path, INTERVAL).replace("prism 0 3 0 3 0 3 0.1 0 0", "block 0 3 0 3 0 3")
    script = f"boundary {boundary}\n" + script.replace("xu yu zu", "x y z")
    simulation = start(script, wrap=True)
    assert simulation.run(50) == (True, 50)
    assert simulation.run(50) == (True, 100)  # LAMMPS moves atoms into the cell when a run begins
    simulation.end()
    frames, written = published(), written_by_lammps(tmp_path)
    np.testing.assert_array_equal([frame.positions for frame in frames], written.positions.astype(np.float32))
    if boundary == "p p p":
        np.testing.assert_allclose([frame.box for frame in frames], written.boxes, rtol=1e-12)
        assert frames[-1].positions.max() > 15.0  # those of the lattice are 13.15 at most
    else:
        assert {frame.box for frame in frames} == {None}


def test_positions_by_fix_external_are_those_that_lammps_writes(tmp_path: Path) -> None:
    """Check a LAMMPS callback without a reporter, as documented on the page on engines."""
    (tmp_path / "in.argon").write_text(argon(tmp_path, INTERVAL).replace("xu yu zu", "x y z"))
    page = (ROOT / "docs" / "how-to" / "engines.md").read_text()
    code = page.partition("```python\n# A callback of fix external.\n")[2].partition("```")[0]
    assert code
    program = "import lammps_simulation\nlmp = lammps_simulation.start()\nlmp.file('in.argon')\n" + code
    paths = [str(Path(lammps_simulation.__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env=environment, check=True, timeout=LONG)
    written = written_by_lammps(tmp_path)
    with Consumer("run1") as consumer:
        frames = [frame.copy() for frame in consumer]
    assert [frame.step for frame in frames] == [0, *written.steps]
    np.testing.assert_array_equal([frame.positions for frame in frames[1:]], written.positions.astype(np.float32))
    np.testing.assert_allclose([frame.box for frame in frames[1:]], written.boxes, rtol=1e-12)


def test_reporter_does_what_it_is_asked_behind_the_next_frame(
    start: Start, tmp_path: Path, asking: ThreadPoolExecutor
) -> None:
    simulation = start()
    assert simulation.run(12) == (True, 12)
    said = asked(asking, "checkpoint")
    assert simulation.run(INTERVAL) == (True, 17)  # a frame at step 15
    assert said.result(LONG).facts == {"checkpoint": str(tmp_path / "argon-15.restart"), "step": 15}
    said = asked(asking, "change-stride", stride=20)
    assert simulation.run(73) == (True, 90)  # at 20, and then at 40, 60, 80
    assert said.result(LONG).message == "from step 20, a frame every 20 steps instead of 5"
    for kind, arguments, expected in (
        ("change-stride", {"stride": 0}, "expected a stride of 1 step or more, got 0"),
        ("dance", {}, "the reporter of LAMMPS supports stop, checkpoint, change-stride, pause and resume, not 'dance'"),
    ):
        said = asked(asking, kind, **arguments)
        assert simulation.run(20)[0]
        with pytest.raises(StreamError, match=expected):
            said.result(LONG)
    said = asked(asking, "stop")
    assert simulation.run(1000) == (False, 140)
    assert said.result(LONG).facts == {"checkpoint": str(tmp_path / "argon.restart"), "step": 140}
    simulation.end()
    frames = published()
    assert [frame.step for frame in frames] == [5, 10, 15, 20, 40, 60, 80, 100, 120, 140]
    assert Status.read("argon").state == "stopped"
    for name, frame in (("argon-15.restart", frames[2]), ("argon.restart", frames[-1])):
        kept = read_restart(tmp_path / name)
        assert kept.steps == [frame.step]
        np.testing.assert_allclose(kept.positions[0], frame.positions, atol=2e-6)
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"in.argon", "dump.txt", "argon-15.restart", "argon.restart"}


def test_sigterm_publishes_the_last_frame_and_leaves_a_restart_file(start: Start, tmp_path: Path) -> None:
    simulation = start()
    assert simulation.run(12) == (True, 12)
    simulation.begin(1_000_000)
    with Consumer("argon") as frames:
        for frame in frames:
            if frame.step >= 20:
                simulation.process.terminate()
                break
    assert simulation.process.wait(LONG) == 143
    assert Status.read("argon").state == "stopped"
    steps = [frame.step for frame in published()]
    (last,) = read_restart(tmp_path / "argon.restart").steps
    assert steps == list(range(steps[0], last + 1, INTERVAL))


def test_simulation_goes_on_where_no_checkpoint_can_be_written(
    start: Start, tmp_path: Path, asking: ThreadPoolExecutor
) -> None:
    simulation = start(checkpoint=tmp_path / "none" / "argon.restart")
    for n, kind in enumerate(("checkpoint", "stop"), 1):
        said = asked(asking, kind)
        assert simulation.run(INTERVAL) == (True, n * INTERVAL)
        with pytest.raises(StreamError, match=r"the checkpoint could not be written: .*No such file or directory"):
            said.result(LONG)
    simulation.end()
    assert [frame.step for frame in published()] == [5, 10]
    assert Status.read("argon").state == "finished"


def test_stop_of_lammps_itself_is_not_taken_for_the_last_step(start: Start, tmp_path: Path) -> None:
    halt = "variable here equal step\nfix 8 all halt 7 v_here >= 14 error soft\n"
    simulation = start(argon(tmp_path, INTERVAL) + halt)
    assert simulation.run(1000) == (False, 14)
    simulation.end()
    assert [frame.step for frame in published()] == [5, 10]


@pytest.mark.parametrize(
    ("before", "after", "settings", "expected"),
    [
        ("units metal", "units lj", {}, "UnsupportedError: .*LAMMPS's units must be metal or real, not lj"),
        ("atom_style atomic", "atom_style atomic\natom_modify id no", {}, "UnsupportedError: .*are not 1 to"),
        ("", "", {"n_atoms": 107}, "MismatchError: .*the channel has 107 atoms, LAMMPS has 108"),
        ("", "", {"energies": ["heat"]}, "MismatchError: .*LAMMPS has the energies potential, .*, not heat"),
        ("", "", {"checkpoint": "argon-*.restart"}, r"MismatchError: .*LAMMPS interprets \* in a path"),
    ],
)
def test_what_cannot_be_published_is_refused(
    start: Start, tmp_path: Path, before: str, after: str, settings: dict[str, Any], expected: str
) -> None:
    script = argon(tmp_path, INTERVAL).partition("velocity")[0].replace(before or "units", after or "units")
    simulation = start(script, **settings)
    assert re.match(expected, simulation.said), simulation.said
    assert simulation.process.wait(LONG) == 0
    with pytest.raises(FileNotFoundError):
        Status.read("argon")


def test_live_results_of_the_example_are_those_of_the_file_of_lammps() -> None:
    command = [sys.executable, EXAMPLE, "--frames", "100"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONG, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "100 frames; the same as of the file of LAMMPS, to the bit" in done.stdout
    assert "the run has ended at step 1000" in done.stdout
