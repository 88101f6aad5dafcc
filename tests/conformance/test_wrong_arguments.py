"""Errors of every public callable for wrong arguments: clear, and from mdreel."""

import inspect
import pydoc
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import is_dataclass
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest

import mdreel
from conformance.wrong_arguments import Call, calls, parameters, system, unclear_errors, wrong_values
from mdreel.analysis.base.analysis import Analysis
from mdreel.errors import ArgumentError, MdreelError
from peptide_system import System

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning", "ignore::RuntimeWarning")

# Methods of analyses and executors that users do not call, with the caller.
INNER = {
    "accept": "the run",
    "begun": "the run",
    "check_run": "other methods",
    "computation": "the run",
    "conclude": "the run",
    "draw": "plot",
    "find_kept_jump": "the run",
    "fitting": "a conversion",
    "leave": "the command line",
    "look": "the run",
    "result_bytes": "the run",
    "make_ready": "the run",
    "observer": "the run",
    "to_dataframe": "tests of results, because pandas and polars are optional",
    "share": "the run",
    "start_at": "the run",
}
SUPERPOSING = ("align", "superposition", "superpose", "superimpose", "fit", "Align", "super_position", "align_first")
MODULES = ("analysis", "errors", "live", "mdanalysis", "trajectory", "transformations")


@pytest.fixture(scope="module")
def peptide_system(tmp_path_factory: pytest.TempPathFactory) -> System:
    return system(tmp_path_factory.mktemp("wrong_arguments"))


@pytest.fixture(scope="module")
def every_call(peptide_system: System, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Call]]:
    """The calls, in a folder that takes the files that they write."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("written"))
        mpl.use("agg")
        yield calls(peptide_system)


def test_every_call_works_with_valid_arguments(every_call: dict[str, Call]) -> None:
    for name, call in every_call.items():
        if name not in ("trajectory.RemoteFile", "Dask", "Mpi"):  # need a server or a launcher
            call.then(call.function(**call.arguments))


def test_wrong_arguments_have_clear_errors(every_call: dict[str, Call], peptide_system: System) -> None:
    from matplotlib import pyplot as plt

    unclear, n_calls = [], 0
    for name, call in every_call.items():
        for parameter in parameters(call.function):
            values = wrong_values(peptide_system)
            n_calls += len(values)
            for value, error in unclear_errors(call, parameter, values).items():
                unclear.append(f"{name}({parameter}={value}): {type(error).__name__}: {error}")
            plt.close("all")
    assert n_calls > 10_000
    assert not unclear, "\n".join(unclear)


def public_callables() -> Iterator[tuple[str, Callable[..., Any]]]:
    """The public callables with their names."""
    for name in mdreel.__all__:
        value = getattr(mdreel, name)
        if name not in MODULES and callable(value):
            yield name, value
    for module in ("analysis", "trajectory", "transformations"):
        for name in getattr(mdreel, module).__all__:
            value = getattr(getattr(mdreel, module), name)
            if inspect.isfunction(value) or module == "analysis":
                yield name, value


def test_every_public_callable_is_called(every_call: dict[str, Call]) -> None:
    called = {name.partition(",")[0].rpartition(".")[2] for name in every_call}
    missing = []
    for name, value in public_callables():
        if name not in called:
            missing.append(name)
        for method in dir(value) if inspect.isclass(value) else ():
            function = getattr(value, method)
            if method.startswith("_") or not inspect.isfunction(function) or method in INNER:
                continue
            if len(inspect.signature(function).parameters) > 1 and method not in called:
                missing.append(f"{name}.{method}")
    assert not missing, "add them to wrong_arguments.calls"


@pytest.mark.parametrize(
    ("call", "hint"),
    [
        (lambda u: mdreel.RMSD(u, selct="name CA"), r"RMSD\(\) has no parameter 'selct': did you mean 'select'"),
        (lambda u: mdreel.RMSD(u).run(n_worker=2), r"run\(\) has no parameter 'n_worker': did you mean 'n_workers'"),
        (lambda u: mdreel.read(u, atom="all"), "did you mean 'atoms'"),
        (lambda u: mdreel.Rg(u, xyz=1), "its parameters are atomgroup, weights"),
        (lambda _: mdreel.InterRDF(), "missing a required argument: 'g1'"),
    ],
)
def test_misspelt_parameter_names_the_one_that_was_meant(
    call: Callable[[Any], Any], hint: str, peptide_system: System
) -> None:
    with pytest.raises(ArgumentError, match=hint) as caught:
        call(peptide_system.universe)
    assert isinstance(caught.value, TypeError)


def test_wrong_names_of_all_parameters_of_analyses_suggest_the_parameter(every_call: dict[str, Call]) -> None:
    n_tried, unhelpful = 0, []
    for name, call in every_call.items():
        if not (inspect.isclass(call.function) and issubclass(call.function, Analysis)):
            continue
        known = parameters(call.function)
        meant = {f"{one}{one[-1]}": one for one in known if len(one) > 3}
        for own in {"align", "superposition"} & set(known):
            meant |= {word: own for word in SUPERPOSING if word not in known}
        for wrong, right in meant.items():
            n_tried += 1
            with pytest.raises(ArgumentError) as caught:
                call.function(**call.arguments, **{wrong: True})
            if not str(caught.value).endswith(f"has no parameter {wrong!r}: did you mean {right!r}?"):
                unhelpful.append(f"{name}({wrong}): {caught.value}")
    assert n_tried > 150
    assert not unhelpful, "\n".join(unhelpful)


def test_text_is_one_item_of_a_sequence(peptide_system: System) -> None:
    atoms = peptide_system.universe.atoms
    assert mdreel.Dihedrals(atoms, "phi").names == mdreel.Dihedrals(atoms, ["phi"]).names
    with pytest.raises(MdreelError, match="groupselections"):
        mdreel.RMSD(atoms, groupselections="name CA")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda u: mdreel.InterRDF(u, u, nbins="7"), r"nbins must be a whole number, not '7' \(str\)"),
        (lambda u: mdreel.InterRDF(u, u, nbins=7.5), r"nbins must be a whole number, not 7.5 \(float\)"),
        (lambda u: mdreel.InterRDF(u, u, range=3), r"range must be a sequence of 2 numbers, not 3 \(int\)"),
        (lambda u: mdreel.InterRDF(u, u, range=(0, "8")), r"range\[1\] must be a number, not '8' \(str\)"),
        (lambda u: mdreel.RMSD(u, superposition="yes"), r"superposition must be True or False, not 'yes' \(str\)"),
        (lambda u: mdreel.RMSD(u).run(stop=u), "stop must be a whole number or None, not a Universe"),
        (lambda u: mdreel.RMSD(u).run(stop=10**30), "stop must be .*, not 10{30}"),
        (lambda u: mdreel.RMSD(u).run(transformations=[1]), r"transformations\[0\] must be a Transformation, not 1"),
        (lambda u: mdreel.Contacts(u, ("name CA", "name O"), 1.5), "refgroup must be a pair of AtomGroups"),
        (lambda u: mdreel.InterRDF(u, u, nbins=10**12), "give a smaller nbins"),
        (lambda u: mdreel.DensityAnalysis(u, 1e-6).run(), r"this machine has .* of memory left: give a larger delta"),
    ],
)
def test_message_says_what_was_expected_and_given(
    call: Callable[[Any], Any], message: str, peptide_system: System
) -> None:
    with pytest.raises(MdreelError, match=message):
        call(peptide_system.universe)


@pytest.mark.parametrize(
    ("given", "n_frames"),
    [
        ({"start": np.int64(1), "stop": np.uint8(3)}, 2),
        ({"frames": np.array([0, 2])}, 2),
        ({"frames": [True, False, True, False]}, 2),
        ({"frames": range(3)}, 3),
        ({"verbose": np.bool_(False)}, 4),
        ({"verbose": 0}, 4),
    ],
)
def test_equivalent_types_are_accepted(given: dict[str, Any], n_frames: int, peptide_system: System) -> None:
    assert mdreel.RMSD(peptide_system.universe).run(backend="serial", **given).n_frames == n_frames


def test_numbers_of_numpy_are_accepted(peptide_system: System) -> None:
    atoms = peptide_system.universe.select_atoms("name CA")
    rdf = mdreel.InterRDF(atoms, atoms, np.int32(5), [np.float32(0), np.array(9.0)]).run(backend="serial")
    assert rdf.results.rdf.shape == (5,)


def test_help_shows_signatures_as_in_the_source() -> None:
    text = pydoc.render_doc(mdreel.RMSD, renderer=pydoc.plaintext)
    assert "atomgroup: Atoms, reference: Atoms | ArrayLike | None = None, select: SelectBoth = 'all'" in text
    for name, value in public_callables():
        signature = "" if is_dataclass(value) else str(inspect.signature(value))
        assert not re.search(r"ForwardRef|numpy\.ndarray\[|numpy\._typing|collections\.abc|: '", signature), name


def test_errors_and_submodules_are_at_the_root() -> None:
    assert mdreel.FormatError is mdreel.errors.FormatError
    assert {"ArgumentError", "UnitWarning"} <= set(dir(mdreel))
    assert not any(name.startswith("_") for name in dir(mdreel))
    code = "import mdreel; print(mdreel.timing.files, mdreel.cluster.advice, mdreel.analysis.pca, mdreel.live.steering)"
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
    with pytest.raises(AttributeError, match=r"no attribute 'RMSDs': did you mean 'RMSD'"):
        _ = mdreel.RMSDs  # type: ignore[attr-defined]


def test_atoms_of_another_type_are_named(peptide_system: System) -> None:
    with pytest.raises(MdreelError, match="atomgroup must be an AtomGroup or a Universe of MDAnalysis, not an Atom"):
        mdreel.RMSD(peptide_system.universe.atoms[0])
