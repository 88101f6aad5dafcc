"""Tests of the container of results."""

import copy
import pickle

import numpy as np
import pytest

from mdreel.results.results import Results


def test_results_agree_by_attribute_and_by_key():
    results = Results(first=1)
    results.second = 2
    results["third"] = 3
    assert (results["first"], results["second"], results.third) == (1, 2, 3)
    assert list(results) == ["first", "second", "third"]
    assert {"first", "second", "third"} <= set(dir(results))
    del results.first
    assert "first" not in results


def test_results_survive_pickle_and_copy():
    results = Results(rmsd=np.arange(6.0).reshape(2, 3))
    for twin in (pickle.loads(pickle.dumps(results)), copy.copy(results), copy.deepcopy(results)):
        assert type(twin) is Results
        np.testing.assert_array_equal(twin.rmsd, results.rmsd)


def test_results_repr_shows_shape_and_not_content():
    assert repr(Results(rmsd=np.zeros((98, 3)), n=2)) == "Results(rmsd=<float64 array of shape (98, 3)>, n=2)"


def test_missing_attribute_error_lists_existing_results():
    with pytest.raises(AttributeError, match="no result 'rmsf'; known: rmsd"):
        _ = Results(rmsd=1).rmsf
    with pytest.raises(KeyError):
        Results(rmsd=1)["rmsf"]
    assert not hasattr(Results(), "rmsd")
    with pytest.raises(AttributeError):
        del Results().rmsd


@pytest.mark.parametrize("name", ["items", "keys", "update", "__class__"])
def test_results_refuse_names_of_methods(name):
    for assign in (Results.__setitem__, setattr, lambda results, name, value: results.update({name: value})):
        with pytest.raises(AttributeError):
            assign(Results(), name, 1)


@pytest.mark.parametrize("name", ["two words", "1st", ""])
def test_results_refuse_names_that_are_no_identifiers(name):
    with pytest.raises(TypeError, match="expected an identifier"):
        Results()[name] = 1
    with pytest.raises(TypeError):
        Results().setdefault(name, 1)
