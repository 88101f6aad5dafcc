"""Checkpoints of runs whose code has changed before they go on, each run in an interpreter of its own."""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from forked_python.command import forked_python

RUN = """
import importlib.metadata, os, signal, sys
sys.dont_write_bytecode = True  # files change within the second that bytecode looks at
import MDAnalysis as mda
import numpy as np
from MDAnalysisTests.datafiles import DCD, PSF
import mdreel
from mdreel.execution.checkpoint.file import Checkpoint
from own import analysis

kind, checkpoint, n_kept, changed, version = sys.argv[1:]
if changed:
    as_it_is = importlib.metadata.version
    importlib.metadata.version = lambda name: version if name == changed else as_it_is(name)
    if changed == "mdreel":
        import mdreel.execution.checkpoint.file as kept
        import mdreel.execution.checkpoint.module_versions as versions
        kept.version = versions.version = lambda: version
    if changed == "Python":
        import platform
        platform.python_version = lambda: version

def in_main(positions):
    return SHIFT + positions[:, 1].mean()

SHIFT = 4.0  # of the script
keep, kept = Checkpoint.add, []

def add(self, part):
    keep(self, part)
    kept.append(part)
    if len(kept) == int(n_kept):
        os.kill(os.getpid(), signal.SIGKILL)

Checkpoint.add = add
atoms = mda.Universe(PSF, DCD).select_atoms("name CA")
ours = {"main": in_main, "lambda": lambda positions: positions[:, 2].max() * 3.0}
one = mdreel.from_function(ours[kind], atoms) if kind in ours else analysis(kind, atoms)
one.run(backend="serial", checkpoint=checkpoint, n_parts=7)
print(one.timing.n_frames, mdreel._core and repr({n: np.asarray(v).sum() for n, v in one.results.items()}))
"""

OWN = '''
import functools
import numpy as np
import mdreel
import tools
from MDAnalysis.lib.distances import calc_bonds

CUTOFF = 3.0
SCALES = {"x": 1.5}
NAMES = {"C", "N", "O"}

def helper(x):
    return x * 2.0

def measured(positions, offset=1.0, *, factor=2.0):
    """What it measures."""
    total = helper(positions[:, 0].sum()) * factor + offset + CUTOFF
    return total + len(NAMES) + SCALES["x"] + tools.shifted(np.pi) + recursive(3)

def recursive(n):
    return n and recursive(n - 1)

def importing(positions):
    from tools import late
    return late(round(1000 * float(positions[0, 0])))  # whole numbers: any order of sums is the same

def made(threshold):
    def inner(positions):
        return float(positions[0, 0] > threshold)
    return inner

def merged(one, other):
    return one + other

class Called:
    def __init__(self, weight):
        self.weight = weight
    def __call__(self, positions):
        return self.weight * positions[0, 0]
    def bound(self, positions):
        return self.weight + positions[0, 1]

class Base(mdreel.AnalysisBase):
    SIGN = 1.0
    def term(self, x):
        return x + 1.0

class Own(Base):
    POWER = 2
    def __init__(self, atoms, weight):
        super().__init__(atoms)
        self._weight = weight
    def _prepare(self):
        self.results.found = np.zeros(self.n_frames)
    def _single_frame(self):
        value = self.term(self.atomgroup.positions[0, 0]) ** self.POWER
        self.results.found[self._frame_index] = self.SIGN * value * self._weight

def analysis(kind, atoms):
    if kind == "class":
        return Own(atoms, weight=0.5)
    if kind == "rmsd":
        return mdreel.RMSD(atoms, weights="mass")
    if kind == "reducer":
        return mdreel.from_function(importing, atoms, reduce=mdreel.analysis.Reducer(merged))
    if kind == "histogram":
        return mdreel.from_function(importing, atoms, reduce="histogram", bins=5, range=(-50, 50))
    given = {
        "function": measured,
        "closure": made(0.5),
        "partial": functools.partial(measured, offset=7.0),
        "instance": Called(2.0),
        "method": Called(3.0).bound,
    }
    return mdreel.from_function(given[kind], atoms)
'''

TOOLS = """
SHIFT = 0.25

def shifted(x):
    return x + SHIFT

def late(x):
    return x - 1.0
"""

KINDS = (
    "function", "closure", "partial", "instance", "method", "class", "reducer", "histogram", "rmsd", "main", "lambda",
)  # fmt: skip


@dataclass(frozen=True)
class Killed:
    """A run that was killed, with the files of its code."""

    folder: Path
    kind: str

    def run(
        self, n_kept: int = 0, changed: str = "", version: str = "", hash_seed: str = ""
    ) -> subprocess.CompletedProcess[str]:
        """Run in a forked interpreter, with this seed of hashes, and kill it when so many parts were kept."""
        words = [self.kind, str(self.folder / "kept"), str(n_kept), changed, version]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(self.folder), *sys.path])}
        if hash_seed:
            environment["PYTHONHASHSEED"] = hash_seed
        command = [forked_python(hash_seed=hash_seed), str(self.folder / "run.py"), *words]
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)

    def change(self, file: str, old: str, new: str) -> None:
        """Edit a file of the code."""
        path = self.folder / file
        content = path.read_text()
        assert old in content
        path.write_text(content.replace(old, new, 1))


@pytest.fixture(scope="module")
def killed_runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Killed]:
    return {}


@pytest.fixture
def killed(
    killed_runs: dict[str, Killed],
    tmp_path_factory: pytest.TempPathFactory,
    kind: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Killed:
    """A copy of a run of this kind that was killed; the first test of a kind has it killed."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.getbasetemp() / "state"))
    if kind not in killed_runs:
        folder = tmp_path_factory.mktemp(kind)
        for name, content in (("run.py", RUN), ("own.py", OWN), ("tools.py", TOOLS)):
            (folder / name).write_text(content)
        killed_runs[kind] = Killed(folder, kind)
        done = killed_runs[kind].run(n_kept=1)
        assert done.returncode == -9, done.stderr
    shutil.copytree(killed_runs[kind].folder, tmp_path / "copy")
    return Killed(tmp_path / "copy", kind)


@pytest.mark.parametrize("kind", KINDS)
def test_killed_run_goes_on_in_a_fresh_process_when_its_code_only_moved(killed: Killed) -> None:
    for file in ("own.py", "run.py"):
        killed.change(file, "\n", "\n\n# A comment.\n\n")
    if killed.kind in ("function", "partial"):
        killed.change("own.py", '"""What it measures."""', '"""What it measures, in other words."""')
    again = killed.run(hash_seed="7")  # no digest may depend on it
    assert again.returncode == 0, again.stderr
    n_done, results = again.stdout.split(" ", 1)
    assert 0 < int(n_done) < 98
    (killed.folder / "kept").unlink()
    anew = killed.run()
    assert anew.stdout == f"98 {results}"


CHANGES = [
    ("function", "own.py", "* factor + offset", "* factor - offset", "code of the function measured (own)"),
    ("function", "own.py", "recursive(3)", "recursive(4)", "code of the function measured (own)"),
    ("function", "own.py", "offset=1.0", "offset=1.5", "default values of the function measured (own)"),
    ("function", "own.py", "factor=2.0", "factor=2.5", "default values of the function measured (own)"),
    ("function", "own.py", "x * 2.0", "x * 2.5", "code of the function helper (own)"),
    ("function", "own.py", "CUTOFF = 3.0", "CUTOFF = 3.5", "global value `CUTOFF` of the module own"),
    ("function", "own.py", '{"x": 1.5}', '{"x": 2.5}', "global value `SCALES` of the module own"),
    ("function", "own.py", '{"C", "N", "O"}', '{"C", "N"}', "global value `NAMES` of the module own"),
    ("function", "own.py", "n and recursive", "n or recursive", "code of the function recursive (own)"),
    ("function", "tools.py", "x + SHIFT", "x - SHIFT", "code of the function shifted (tools)"),
    ("function", "tools.py", "SHIFT = 0.25", "SHIFT = 0.5", "global value `SHIFT` of the module tools"),
    ("closure", "own.py", "made(0.5)", "made(0.6)", "value `threshold` that the function made.<locals>.inner (own)"),
    ("closure", "own.py", "> threshold", "< threshold", "code of the function made.<locals>.inner (own)"),
    ("partial", "own.py", "offset=7.0", "offset=8.0", "analysis"),
    ("partial", "own.py", "x * 2.0", "x * 2.5", "code of the function helper (own)"),
    ("instance", "own.py", "Called(2.0)", "Called(2.5)", "analysis"),
    ("instance", "own.py", "self.weight * pos", "self.weight - pos", "code of the function Called.__call__ (own)"),
    ("method", "own.py", "Called(3.0)", "Called(3.5)", "analysis"),
    ("method", "own.py", "self.weight + pos", "self.weight - pos", "code of the function Called.bound (own)"),
    ("class", "own.py", "self.SIGN * value", "self.SIGN + value", "code of the function Own._single_frame (own)"),
    ("class", "own.py", "np.zeros(self", "np.ones(self", "code of the function Own._prepare (own)"),
    ("class", "own.py", "x + 1.0", "x + 2.0", "code of the function Base.term (own)"),
    ("class", "own.py", "POWER = 2", "POWER = 3", "attribute `POWER` of the class Own (own)"),
    ("class", "own.py", "SIGN = 1.0", "SIGN = -1.0", "attribute `SIGN` of the class Base (own)"),
    ("class", "own.py", "class Own(Base)", "class Own(Base, Called)", "bases of the class Own (own)"),
    ("class", "own.py", "weight=0.5", "weight=0.75", "analysis"),
    ("reducer", "own.py", "one + other", "one - other", "code of the function merged (own)"),
    ("reducer", "tools.py", "x - 1.0", "x - 2.0", "code of the function late (tools)"),
    ("histogram", "tools.py", "x - 1.0", "x - 2.0", "code of the function late (tools)"),
    ("histogram", "own.py", "range=(-50, 50)", "range=(-50, 60)", "analysis"),
    ("rmsd", "own.py", 'weights="mass"', "weights=None", "analysis"),
    ("main", "run.py", "positions[:, 1].mean()", "positions[:, 0].mean()", "code of the function in_main (__main__)"),
    ("main", "run.py", "SHIFT = 4.0", "SHIFT = 5.0", "global value `SHIFT` of the module __main__"),
    ("lambda", "run.py", "* 3.0", "* 4.0", "code of the function <lambda> (__main__)"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "file", "old", "new", "what"), CHANGES)
def test_checkpoint_is_refused_by_name_of_what_has_changed(
    killed: Killed, file: str, old: str, new: str, what: str
) -> None:
    killed.change(file, old, new)
    again = killed.run()
    assert again.returncode == 1, again.stdout
    (line,) = [line for line in again.stderr.splitlines() if line.startswith("mdreel.errors.MismatchError: ")]
    assert "the checkpoint is of another run" in line
    assert f"its {what} " in line
    assert "remove the file" in line
    assert not re.search(r"\b[0-9a-f]{16}\b", line), "a digest tells a user nothing"


@pytest.mark.parametrize(
    ("kind", "changed"),
    [
        ("function", "mdreel"),
        ("function", "numpy"),
        ("function", "MDAnalysis"),
        ("function", "Python"),
        ("rmsd", "numpy"),
        ("rmsd", "mdreel"),
    ],
)
def test_checkpoint_of_other_versions_is_refused(killed: Killed, changed: str) -> None:
    again = killed.run(changed=changed, version="99.0")
    assert again.returncode == 1, again.stdout
    assert f"its version of {changed} is " in again.stderr
    assert "99.0" in again.stderr
