"""Each analysis of Python has a command."""

import ast
import inspect
from pathlib import Path

import pytest

import mdreel
import mdreel.analysis
from mdreel.analysis.base.analysis import Analysis
from mdreel.analysis.projection import Projection
from mdreel.cli import commands

USERS_CODE = {"AnalysisBase"}
"""Analyses that users write themselves."""


def imported_names(entry: commands.Entry) -> set[str]:
    """Return the names that the module of a command imports."""
    tree = ast.parse(Path(inspect.getfile(__import__(entry.module, fromlist=["_"]))).read_text(encoding="utf-8"))
    found = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom))
    return {alias.name for node in found for alias in node.names}


@pytest.fixture(scope="module")
def named() -> set[str]:
    """All names that commands import."""
    return {name for entries in commands.GROUPS.values() for entry in entries for name in imported_names(entry)}


def test_each_analysis_has_a_command(named: set[str]) -> None:
    found = {name: getattr(mdreel, name) for name in mdreel.__all__}
    analyses = {name for name, one in found.items() if inspect.isclass(one) and issubclass(one, Analysis)}
    assert len(analyses) > 20
    assert {*analyses, Projection.__name__} - USERS_CODE - named == set()


def test_each_function_on_series_has_a_command(named: set[str]) -> None:
    functions = {name for name in mdreel.analysis.__all__ if inspect.isfunction(getattr(mdreel.analysis, name))}
    assert functions >= {"autocorrelation", "block_averages", "statistical_inefficiency"}
    assert functions - named == set()
