"""Places that unpickle bytes or run code and commands: each has a reason why nobody else can have written these."""

import ast
from collections.abc import Iterator

import pytest

from architecture.checkout import package_files, place_of, syntax_tree

RUNS = {
    **dict.fromkeys(("exec", "eval", "compile", "__import__")),
    **dict.fromkeys(("pickle", "cloudpickle", "dill", "marshal"), ("load", "loads", "Unpickler")),
    **dict.fromkeys(("joblib", "shelve", "yaml", "torch"), ("load", "open", "unsafe_load", "full_load")),
    **dict.fromkeys(("np", "numpy", "numpy.lib.format"), ("load", "fromregex", "read_array")),
    "runpy": ("run_path", "run_module"),
    "importlib": ("import_module", "reload"),
    "importlib.util": ("spec_from_file_location", "module_from_spec"),
    "ctypes": ("CDLL", "PyDLL"),
    "subprocess": ("Popen", "run", "call", "check_call", "check_output", "getoutput", "getstatusoutput"),
    "os": ("system", "popen", "execv", "execve", "execvp", "execvpe", "posix_spawn", "posix_spawnp"),
}
"""Calls that run what they are given: functions, or modules with their functions."""


def risky_calls(tree: ast.Module) -> Iterator[str]:
    """Give the calls of a module that run what they are given, under whichever name they were imported."""
    modules, functions = imported(tree)
    for node in ast.walk(tree):
        # A class that is derived from, and a function that is handed on, are as good as called.
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in functions:
            yield functions[node.id]
        elif isinstance(node, ast.Attribute):
            module = modules.get(ast.unparse(node.value))
            if node.attr in (RUNS.get(module or "") or ()):
                yield f"{module}.{node.attr}"


def imported(tree: ast.Module) -> tuple[dict[str, str], dict[str, str]]:
    """Return what modules and functions are called here, and what they are."""
    modules, functions = {name: name for name in RUNS}, {name: name for name, of in RUNS.items() if of is None}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules |= {alias.asname or alias.name: alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found = {alias.asname or alias.name: (f"{node.module}.{alias.name}", alias.name) for alias in node.names}
            modules |= {here: name for here, (name, _) in found.items() if name in RUNS}
            known = RUNS.get(node.module or "") or ()
            functions |= {here: name for here, (name, last) in found.items() if last in known}
    return modules, functions


PIPE = "pickled by a process of this run, and received through a pipe, a rank's message, or the user's Dask cluster"
MEMORY = "pickled by the user's own process, and part of the job that a worker was sent"
CHECKED = "as PIPE, or of a checkpoint: trusted_files has checked the file, and the user's key each record, before"
PLAIN = "allow_pickle=False: arrays alone"
CONSTANT = "a module of mdreel, or a package that a table of mdreel names"
IMPORTED = "a module that the user's function imports, from where it does"
TYPED = "a command that the user has typed, or that mdreel makes of constants and its own interpreter"
NAMED = "a type of arguments: nothing is started"
LIBC = "the C library of this process"
INSTALLED = "a module of this package, which is installed together with its caller"
FROM_FILE = "a command of rules or an ensemble: trusted_files has checked the file, or the caller's Python made it"

PLACES = {
    "analysis/user/fraction_fold.py: pickle.loads": MEMORY,
    "analysis/user/checked_function.py: pickle.loads": MEMORY,
    "analysis/user/frames_fold.py: pickle.loads": MEMORY,
    "analysis/user/user_functions.py: pickle.loads": CHECKED,
    "analysis/user/object_state.py: pickle.Unpickler": MEMORY,
    "analysis/user/reducers.py: pickle.loads": MEMORY,
    "analysis/ramachandran.py: numpy.load": PLAIN,
    "lab/mdreel_lab/bench/allocation.py: subprocess.run": TYPED,
    "lab/mdreel_lab/bench/input_files.py: subprocess.run": TYPED,
    "lab/mdreel_lab/bench/launching.py: subprocess.run": TYPED,
    "lab/mdreel_lab/bench/contests/contenders.py: subprocess.run": TYPED,
    "lab/mdreel_lab/bench/empty_tasks.py: importlib.import_module": CONSTANT,
    "lab/mdreel_lab/bench/environment.py: subprocess.run": TYPED,
    "lab/mdreel_lab/bench/exchange/arrivals.py: ctypes.CDLL": LIBC,
    "lab/mdreel_lab/bench/exchange/fault_members.py: subprocess.Popen": TYPED,
    "lab/mdreel_lab/bench/exchange/nodes.py: subprocess.run": TYPED,
    "lab/mdreel_lab/bench/exchange/pairs.py: subprocess.Popen": TYPED,
    "lab/mdreel_lab/bench/exchange/places.py: subprocess.run": TYPED,
    "lab/mdreel_lab/bench/exchange/staging_cost.py: subprocess.Popen": TYPED,
    "lab/mdreel_lab/bench/exchange/solutions/channel.py: subprocess.Popen": TYPED,
    "lab/mdreel_lab/bench/exchange/solutions/nats.py: subprocess.Popen": TYPED,
    "lab/mdreel_lab/bench/exchange/solutions/redis.py: subprocess.Popen": TYPED,
    "lab/mdreel_lab/bench/interference/experiment.py: subprocess.Popen": TYPED,
    "lab/mdreel_lab/bench/peers/files.py: subprocess.run": TYPED,
    "lab/mdreel_lab/bench/peers/gmx.py: subprocess.run": TYPED,
    "lab/mdreel_lab/bench/peers/readers.py: subprocess.run": TYPED,
    "lab/mdreel_lab/bench/processes.py: subprocess.Popen": TYPED,
    "lab/mdreel_lab/bench/rigs/dyad.py: subprocess.Popen": TYPED,
    "lab/mdreel_lab/bench/rigs/dyad.py: subprocess.run": TYPED,
    "lab/mdreel_lab/bench/rigs/hosts.py: subprocess.Popen": TYPED,
    "lab/mdreel_lab/bench/rigs/hosts.py: subprocess.run": TYPED,
    "lab/mdreel_lab/bench/rigs/links.py: subprocess.run": TYPED,
    "lab/mdreel_lab/bench/watched_channels.py: subprocess.Popen": TYPED,
    "cli/commands.py: importlib.import_module": CONSTANT,
    "cli/live/steer.py: subprocess.Popen": NAMED,
    "live/ensemble/replica_process.py: subprocess.Popen": FROM_FILE,
    "live/ensemble/result_tables.py: numpy.load": PLAIN,
    "results/read_table.py: numpy.load": PLAIN,
    "execution/checkpoint/function_code.py: importlib.import_module": IMPORTED,
    "execution/executors/dask/worker.py: pickle.loads": PIPE,
    "execution/executors/mpi/executor.py: pickle.loads": PIPE,
    "execution/executors/pickle_buffers.py: pickle.loads": PIPE,
    "execution/executors/local/processes.py: subprocess.Popen": TYPED,
    "live/archives/archiver_process.py: pickle.loads": PIPE,
    "live/channels/core_without_arrays.py: importlib.util.module_from_spec": INSTALLED,
    "live/channels/core_without_arrays.py: importlib.util.spec_from_file_location": INSTALLED,
    "live/archives/archiver_process.py: subprocess.Popen": TYPED,
    "live/managed/preload.py: subprocess.Popen": TYPED,
    "mdanalysis/backend.py: pickle.loads": MEMORY,
    "foundation/submodules.py: importlib.import_module": INSTALLED,
    "execution/progress.py: importlib.import_module": CONSTANT,
    "trajectory/mdanalysis_source.py: pickle.loads": MEMORY,
    "trajectory/hdf5.py: importlib.import_module": CONSTANT,
    "live/watch/alert_command.py: subprocess.run": TYPED,
    "live/watch/analysis_process.py: subprocess.Popen": TYPED,
    "live/watch/molecule.py: subprocess.run": TYPED,
    "live/steering/engine_process.py: subprocess.Popen": TYPED,
    "live/steering/action_runner.py: subprocess.Popen": FROM_FILE,
    "live/steering/engine_control.py: subprocess.Popen": NAMED,
    "trajectory/output_file.py: importlib.import_module": CONSTANT,
    "timing/page_cache.py: ctypes.CDLL": LIBC,
}
"""Why what is run there was written by nobody else."""


def test_whatever_is_unpickled_or_run_is_known_to_be_trusted() -> None:
    found = {f"{place_of(path)}: {call}" for path in package_files() for call in risky_calls(syntax_tree(path))}
    assert found - {*PLACES} == set(), "say in PLACES why nobody else can have written what is run here"
    assert {*PLACES} - found == set(), "nothing is run there any more"
    assert {*PLACES} - found == set(), "these are gone: take them out of PLACES"


@pytest.mark.parametrize(
    ("code", "calls"),
    [
        ("import pickle\npickle.loads(x)", ["pickle.loads"]),
        ("from pickle import load as fetch\nfetch(x)", ["pickle.load"]),
        ("import pickle as p\nclass A(p.Unpickler): pass", ["pickle.Unpickler"]),
        ("import numpy as array\narray.load(x)", ["numpy.load"]),
        ("from importlib import util\nutil.spec_from_file_location(x)", ["importlib.util.spec_from_file_location"]),
        ("map(eval, x)", ["eval"]),
        ("import subprocess\nsubprocess.run(x)", ["subprocess.run"]),
        ("import json\njson.loads(x)", []),
        ("import pickle\npickle.dumps(x)", []),
    ],
)
def test_search_for_what_is_run_finds_it(code: str, calls: list[str]) -> None:
    assert list(risky_calls(ast.parse(code))) == calls
