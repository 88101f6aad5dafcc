"""The analyses that MDAnalysis has too: same parameters, defaults, attributes, results and backends."""

import importlib
import inspect
import warnings
from collections.abc import Callable
from typing import Any

import MDAnalysis
import numpy as np
import pytest
from MDAnalysis.analysis.base import AnalysisBase
from MDAnalysisTests.datafiles import DCD, PSF, TPR, XTC, waterDCD, waterPSF

from conformance.drop_in_suite import REPLACED, of_mdreel

# What differs on purpose: the analysis and the parameter, attribute or result, with the reason.
DIFFERENCES: dict[tuple[str, str], str] = {
    ("run", "backend"): "None are threads here, not one process: results are the same, and ready sooner",
    ("PCA", "results.p_components"): "eigenvectors have any sign; here the largest entry of each is positive",
    ("WaterBridgeAnalysis", "results.timeseries"): "MDAnalysis leaves out most bonds if a frame has several bridges",
    ("WaterBridgeAnalysis", "set_network"): "deprecated in MDAnalysis: set results.network",
    ("WaterBridgeAnalysis", "logger_debug"): "writes to MDAnalysis's log; not part of the documented interface",
    ("DistanceMatrix", "metric"): "None stands for MDAnalysis's rmsd, so that mdreel need not import MDAnalysis",
}

NAMES = sorted(REPLACED)


def theirs(name: str) -> Any:
    return getattr(importlib.import_module(f"MDAnalysis.analysis.{REPLACED[name][0]}"), name)


def ours(name: str) -> Any:
    return of_mdreel(name)


def parameters(function: Any) -> dict[str, inspect.Parameter]:
    """The parameters with names of a function, without ``self``."""
    every = inspect.signature(function).parameters
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return {name: one for name, one in every.items() if name != "self" and one.kind not in variable}


def differences(mine: Any, other: Any) -> list[str]:
    """Parameters of MDAnalysis's function that ours lacks, has elsewhere, or gives another default."""
    found = []
    own = parameters(mine)
    for place, (name, one) in enumerate(parameters(other).items()):
        if name not in own:
            found.append(f"{name}: missing")
        elif one.kind is not inspect.Parameter.KEYWORD_ONLY and list(own).index(name) != place:
            found.append(f"{name}: at another place")
        elif own[name].kind is not one.kind and one.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD:
            found.append(f"{name}: {own[name].kind.description}")
        elif not same_default(own[name].default, one.default):
            found.append(f"{name}: {own[name].default!r} instead of {one.default!r}")
    return found


def same_default(mine: Any, other: Any) -> bool:
    if isinstance(mine, tuple | list) and isinstance(other, tuple | list):
        return list(mine) == list(other)
    return bool(mine is other or mine == other)


def unexplained(name: str, found: list[str]) -> list[str]:
    return [one for one in found if (name, one.partition(":")[0]) not in DIFFERENCES]


@pytest.mark.parametrize("name", NAMES)
def test_parameters_are_those_of_mdanalysis(name: str) -> None:
    assert unexplained(name, differences(ours(name).__init__, theirs(name).__init__)) == []


@pytest.mark.parametrize("name", NAMES)
def test_what_only_mdreel_has_is_given_by_name(name: str) -> None:
    extra = set(parameters(ours(name).__init__)) - set(parameters(theirs(name).__init__))
    positional = [
        one for one in extra if parameters(ours(name).__init__)[one].kind is not inspect.Parameter.KEYWORD_ONLY
    ]
    assert positional == []
    assert "verbose" in parameters(ours(name).__init__)


@pytest.mark.parametrize("name", NAMES)
def test_run_has_the_parameters_of_mdanalysis(name: str) -> None:
    assert unexplained("run", differences(ours(name).run, AnalysisBase.run)) == []


@pytest.mark.parametrize("name", NAMES)
def test_methods_and_attributes_of_mdanalysis_are_there(name: str) -> None:
    public = {one for one in dir(theirs(name)) if not one.startswith("_")}
    missing = sorted(one for one in public if not hasattr_of_class(ours(name), one))
    assert unexplained(name, missing) == []


def hasattr_of_class(cls: type, name: str) -> bool:
    return any(name in vars(one) for one in cls.__mro__)


@pytest.mark.parametrize("name", NAMES)
def test_methods_have_the_parameters_of_mdanalysis(name: str) -> None:
    found = []
    for method in sorted(one for one in dir(theirs(name)) if not one.startswith("_") and one != "run"):
        other, mine = getattr(theirs(name), method), getattr(ours(name), method, None)
        if inspect.isroutine(other) and mine is not None:
            found += [f"{method}.{one}" for one in differences(mine, other)]
    assert unexplained(name, found) == []


@pytest.mark.parametrize("name", NAMES)
def test_backends_have_the_names_of_mdanalysis(name: str) -> None:
    assert set(AnalysisBase.get_supported_backends()) | {"serial", "multiprocessing", "dask"} <= set(
        ours(name).get_supported_backends()
    )
    assert set(theirs(name).get_supported_backends()) <= set(ours(name).get_supported_backends())


def adk() -> MDAnalysis.Universe:
    return MDAnalysis.Universe(PSF, DCD)


def water() -> MDAnalysis.Universe:
    return MDAnalysis.Universe(TPR, XTC)


def oxygens(universe: MDAnalysis.Universe) -> Any:
    return universe.select_atoms("name OW")[:200]


def small_water() -> MDAnalysis.Universe:
    return MDAnalysis.Universe(waterPSF, waterDCD)


def salt_bridges(cls: Any) -> Any:
    universe = adk()
    acid, base = "(resname ASP GLU) and (name OE* OD*)", "(resname ARG LYS) and (name NH* NZ)"
    groups = universe.select_atoms(acid), universe.select_atoms(base)
    return cls(universe, select=(acid, base), refgroup=groups, radius=6.0)


def site_distances(cls: Any) -> Any:
    universe = water()
    atoms = oxygens(universe)
    return cls(universe, [[atoms[:2], atoms[2:5]], [atoms[5:6], atoms[6:9]]])


def of_charged_residues(cls: Any) -> Any:
    # In a rectangular cell: MDAnalysis takes the product of the lengths for the volume of a triclinic one.
    return cls(small_water().atoms, grouping="residues", binsize=2.0)


# Analyses of the same atoms with either class.
CASES: dict[str, Callable[[Any], Any]] = {
    "RMSD": lambda cls: cls(adk(), select="name CA", groupselections=["resid 1:50"]),
    "RMSF": lambda cls: cls(adk().select_atoms("name CA")),
    "AlignTraj": lambda cls: cls(adk(), adk(), select="name CA", in_memory=True),
    "AverageStructure": lambda cls: cls(adk(), adk(), select="name CA"),
    "PCA": lambda cls: cls(adk(), select="name CA and resid 1:20"),
    "InterRDF": lambda cls: cls(*(2 * [oxygens(water())])),
    "InterRDF_s": site_distances,
    "Contacts": salt_bridges,
    "DensityAnalysis": lambda cls: cls(oxygens(water()), delta=4.0),
    "Dihedral": lambda cls: cls([residue.phi_selection() for residue in adk().residues[1:5]]),
    "Janin": lambda cls: cls(adk().select_atoms("resname LYS")),
    "Ramachandran": lambda cls: cls(adk().select_atoms("protein")),
    "HydrogenBondAnalysis": lambda cls: cls(water(), "protein and name N", "protein and name H", "protein and name O"),
    "WaterBridgeAnalysis": lambda cls: cls(small_water(), "resid 5 7", "resid 8", "resid 15 21", order=2, distance=4.0),
    "EinsteinMSD": lambda cls: cls(adk(), select="name CA", fft=False),
    "DSSP": lambda cls: cls(adk()),
    "LinearDensity": of_charged_residues,
    "DistanceMatrix": lambda cls: cls(adk(), select="name CA"),
}


def run_case(name: str, cls: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return CASES[name](cls).run(stop=4)


@pytest.mark.parametrize("name", NAMES)
def test_results_have_the_names_shapes_and_values_of_mdanalysis(name: str) -> None:
    mine, other = (run_case(name, cls) for cls in (ours(name), theirs(name)))
    assert unexplained(name, compared("results", mine.results, other.results)) == []
    np.testing.assert_array_equal(mine.frames, other.frames)
    np.testing.assert_allclose(mine.times, other.times, rtol=1e-5)
    assert mine.n_frames == other.n_frames


def compared(place: str, mine: Any, other: Any) -> list[str]:
    """Places at which two results differ, and how."""
    if place.endswith(".network"):
        same = [rounded_network(each) for each in mine] == [rounded_network(each) for each in other]
        return [] if same else [f"{place}: other bonds"]
    if hasattr(other, "keys"):
        public = [key for key in other if not str(key).startswith("_")]
        found = [f"{place}.{key}: missing" for key in public if key not in mine]
        return found + [
            one for key in public if key in mine for one in compared(f"{place}.{key}", mine[key], other[key])
        ]
    if isinstance(other, list | tuple):
        found = [] if len(mine) == len(other) else [f"{place}: {len(mine)} instead of {len(other)}"]
        return found + [one for a, b in zip(mine, other, strict=False) for one in compared(place, a, b)]
    if not isinstance(other, np.ndarray | int | float | str):
        return []  # an object: a Universe, a density
    return compared_arrays(place, np.asarray(mine), np.asarray(other))


def compared_arrays(place: str, mine: np.ndarray, other: np.ndarray) -> list[str]:
    if mine.shape != other.shape:
        return [f"{place}: shape {mine.shape} instead of {other.shape}"]
    if other.dtype.kind not in "fiu":
        return [] if np.array_equal(mine, other) else [f"{place}: other values"]
    return [] if np.allclose(mine, other, rtol=1e-3, atol=1e-3, equal_nan=True) else [f"{place}: other values"]


def rounded_network(network: Any) -> Any:
    """Return a network of hydrogen bonds in which the last digits of distances and angles do not count."""
    if network is None:
        return None
    return {(*bond[:4], *np.round(bond[4:], 2)): rounded_network(following) for bond, following in network.items()}


def test_differences_are_few_and_have_a_reason() -> None:
    assert len(DIFFERENCES) <= 15
    assert all(len(reason) > 20 for reason in DIFFERENCES.values())
