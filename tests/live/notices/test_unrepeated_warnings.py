"""Tests that live analyses issue each warning once."""

import warnings
from pathlib import Path

import numpy as np
import pytest

import mdreel
from mdreel.errors import MdreelWarning, RangeWarning
from mdreel.live.producers.producer import Producer
from mdreel.live.stream_results import stream_results
from mdreel.live.unrepeated_warnings import UnrepeatedWarnings
from peptide_system import CELL, peptide


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
def test_warning_of_live_results_is_issued_once_though_each_update_repeats_it(tmp_path: Path) -> None:
    atoms = peptide().atoms
    n_updates = 0
    with Producer(tmp_path / "run", len(atoms)) as producer:

        def publish(step: int) -> None:
            positions = np.random.default_rng(step).uniform(0, CELL, (len(atoms), 3))
            producer.publish(positions, step, float(step), np.eye(3) * (CELL + 0.01 * step))

        rdf = mdreel.InterRDF(atoms, atoms, range=(0.0, CELL), trajectory=mdreel.live.channel(tmp_path / "run"))
        publish(0)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for _ in stream_results([rdf], every=0):
                n_updates += 1
                if n_updates < 3:
                    publish(n_updates)
                else:
                    producer.end()
    assert n_updates >= 3
    assert [one.category for one in caught if issubclass(one.category, RangeWarning)] == [RangeWarning]


def test_warnings_that_differ_in_more_than_numbers_are_all_issued() -> None:
    unrepeated = UnrepeatedWarnings()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for number in range(3):
            with unrepeated.of_block():
                warnings.warn(f"the range reaches {number}.5 Å", RangeWarning, stacklevel=1)
                warnings.warn(f"{number} pairs", MdreelWarning, stacklevel=1)
                warnings.warn(f"{number} pairs", RangeWarning, stacklevel=1)
    assert [str(one.message) for one in caught] == ["the range reaches 0.5 Å", "0 pairs", "0 pairs"]


def test_warning_that_is_an_error_is_raised() -> None:
    def warn() -> None:
        with UnrepeatedWarnings().of_block():
            warnings.warn("no pairs", MdreelWarning, stacklevel=1)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(MdreelWarning, match="no pairs"):
            warn()
