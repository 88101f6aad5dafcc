"""A plugin of pytest that runs tests of MDAnalysis on mdreel's analyses, and counts their runs."""

import functools
import importlib
import tempfile
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import Any

import pytest

import mdreel
from conformance.drop_in_comparison import LenientComparison
from conformance.foreign_suite import Deselected, Suite
from forked_python.workers import forked_workers
from mdreel.execution.executors.dask import cluster
from mdreel.execution.executors.dask.cluster import local_cluster
from parsed_topologies import parse_once

DESELECTED = Deselected(Path(__file__).with_name("drop_in_deselected.txt"))

# Where MDAnalysis defines, and offers, the analyses that mdreel has too.
REPLACED = {
    "RMSD": ["rms"],
    "RMSF": ["rms"],
    "AlignTraj": ["align"],
    "AverageStructure": ["align"],
    "PCA": ["pca"],
    "InterRDF": ["rdf"],
    "InterRDF_s": ["rdf"],
    "Contacts": ["contacts"],
    "DensityAnalysis": ["density"],
    "Dihedral": ["dihedrals"],
    "Ramachandran": ["dihedrals"],
    "Janin": ["dihedrals"],
    "HydrogenBondAnalysis": ["hydrogenbonds.hbond_analysis", "hydrogenbonds"],
    "WaterBridgeAnalysis": ["hydrogenbonds.wbridge_analysis", "hydrogenbonds"],
    "EinsteinMSD": ["msd"],
    "DSSP": ["dssp.dssp", "dssp"],
    "LinearDensity": ["lineardensity"],
    "DistanceMatrix": ["diffusionmap"],
}


def of_mdreel(name: str) -> Any:
    """Return our analysis of this name. The newer ones are in `mdreel.analysis`."""
    return getattr(mdreel if hasattr(mdreel, name) else mdreel.analysis, name)


def pytest_configure(config: pytest.Config) -> None:
    parse_once()
    suite = Suite(DESELECTED)
    for name, modules in REPLACED.items():
        ours = of_mdreel(name)
        ours.run = counted(suite, name, ours.run)
        for module in modules:
            setattr(importlib.import_module(f"MDAnalysis.analysis.{module}"), name, ours)
    config.pluginmanager.register(suite)
    config.pluginmanager.register(FilesForStreams())
    comparison = LenientComparison()
    suite.lenient = comparison.lenient
    config.pluginmanager.register(comparison)
    # Hundreds of tests would start workers of their own, which takes longer than all that they compute.
    lasting = ExitStack()
    config.add_cleanup(lasting.close)
    lasting.enter_context(forked_workers())
    start = functools.cache(lambda *of: lasting.enter_context(local_cluster(*of)))
    cluster.local_cluster = lambda *of: nullcontext(start(*of))  # type: ignore[assignment]


class FilesForStreams:
    """A plugin that gives files to tests that read structures from memory, which mdreel refuses."""

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for module in {item.module for item in items if isinstance(item, pytest.Function)}:
            if hasattr(module, "StringIO"):
                module.StringIO = written


def written(text: str) -> str:
    """Return the path of a new file with this text, in the folder of the tests."""
    with tempfile.NamedTemporaryFile("w", suffix=".gro", dir=".", delete=False) as file:
        file.write(text)
    return file.name


def counted(suite: Suite, name: str, run: Any) -> Any:
    """Return the method that runs an analysis, with a count of its calls."""

    @functools.wraps(run)
    def count(analysis: Any, *arguments: Any, **options: Any) -> Any:
        suite.counted[name] += 1
        return run(analysis, *arguments, **options)

    return count
