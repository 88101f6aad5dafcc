"""Tests of the rows of pairs in the contacts of each frame, which have as few bytes as the number of pairs allows."""

import MDAnalysis
import numpy as np
import pytest
from numpy.typing import NDArray

import mdreel
from homodimer import dimer_system, homodimer
from mdreel._core import Source

N_RESIDUES = 363
EVERY = np.stack(np.triu_indices(N_RESIDUES, 1), axis=1)
NEAR = [slice(100, None), slice(0, 250), slice(40, 90), slice(0, None)]
"""The residues that are near one another in each frame. No frame but the last has all pairs."""


def single_atoms() -> MDAnalysis.Universe:
    """Return residues of one atom each."""
    number = np.arange(N_RESIDUES)
    universe = MDAnalysis.Universe.empty(
        N_RESIDUES, N_RESIDUES, atom_resindex=number, residue_segindex=np.zeros(N_RESIDUES, int), trajectory=True
    )
    for name, values in (("names", ["C"] * N_RESIDUES), ("resnames", ["ION"] * N_RESIDUES), ("resids", number + 1)):
        universe.add_TopologyAttr(name, values)
    return universe


def positions() -> NDArray[np.float32]:
    """Return frames in which some residues are within 2 Å and all others far apart."""
    random = np.random.default_rng(3)
    frames = np.zeros((len(NEAR), N_RESIDUES, 3), np.float32)
    frames[:, :, 0] = 50.0 * np.arange(1, N_RESIDUES + 1)
    for frame, near in zip(frames, NEAR, strict=True):
        frame[near] = random.uniform(0, 1, frame[near].shape)
    return frames


@pytest.fixture(scope="module")
def frames() -> NDArray[np.float32]:
    return positions()


def contacts(
    frames: NDArray[np.float32], n_pairs: int, n_parts: int = 1, backend: str = "serial"
) -> mdreel.ResidueContacts:
    source = Source.memory(frames, np.arange(len(frames), dtype=float))
    run = mdreel.ResidueContacts(single_atoms(), pairs=EVERY[:n_pairs], scheme="closest", trajectory=source)
    return run.run(n_parts=n_parts, backend=backend, n_workers=None if backend == "serial" else 2)


@pytest.mark.parametrize(
    ("n_pairs", "dtype"), [(65_535, np.uint16), (65_536, np.uint16), (65_537, np.uint32), (len(EVERY), np.uint32)]
)
def test_rows_have_two_bytes_up_to_65536_pairs(
    frames: NDArray[np.float32], n_pairs: int, dtype: type[np.unsignedinteger]
) -> None:
    found = contacts(frames, n_pairs).results
    assert len(found.pairs) == n_pairs
    assert found.contacts.dtype == dtype
    for i, frame in enumerate(frames):
        lengths = np.linalg.norm(np.diff(frame[EVERY[:n_pairs]], axis=1)[:, 0], axis=1)
        part = slice(found.offsets[i], found.offsets[i + 1])
        np.testing.assert_array_equal(found.contacts[part], np.flatnonzero(lengths <= 4.5))
        np.testing.assert_allclose(found.distances[part], lengths[lengths <= 4.5], atol=1e-5)


@pytest.mark.parametrize("n_pairs", [65_536, 65_537])
def test_rows_do_not_depend_on_blocks_and_executors(frames: NDArray[np.float32], n_pairs: int) -> None:
    expected = contacts(frames, n_pairs).results
    for n_parts, backend in ((2, "serial"), (4, "serial"), (4, "threads"), (4, "processes")):
        found = contacts(frames, n_pairs, n_parts, backend).results
        for name in expected:
            np.testing.assert_array_equal(found[name], expected[name])
            assert np.asarray(found[name]).dtype == np.asarray(expected[name]).dtype, name


def test_rows_depend_on_the_pairs_found_and_not_on_those_asked_for(frames: NDArray[np.float32]) -> None:
    assert contacts(frames[:1], len(EVERY)).results.contacts.dtype == np.uint16


@pytest.mark.parametrize("n_pairs", [65_536, 65_537])
def test_tables_and_stays_are_those_of_the_rows(frames: NDArray[np.float32], n_pairs: int) -> None:
    run = contacts(frames, n_pairs)
    found = run.results
    expected = EVERY[found.contacts.astype(int)]
    columns = {column.name: column.values for column in run.contact_columns()}
    for side, name in enumerate(("first_resid", "second_resid")):
        np.testing.assert_array_equal(columns[name], expected[:, side] + 1)
    last, _ = run.contacts_in(-1)
    np.testing.assert_array_equal(last, EVERY[:n_pairs])
    stays = run.stays()
    np.testing.assert_array_equal(np.bincount(stays[:, 0]), found.events)
    np.testing.assert_array_equal(np.bincount(stays[:, 0], stays[:, 2]), np.bincount(found.contacts))


def test_rows_of_chains_out_of_order_have_two_bytes_as_well() -> None:
    system = dimer_system()
    chains = homodimer(("P", "P"))
    chains.add_TopologyAttr("chainIDs", np.where(chains.atoms.resindices < 14, "Z", "A"))
    found = mdreel.ResidueContacts(chains, cutoff=9.0, trajectory=system.trajectory).run().results
    assert found.contacts.dtype == np.uint16
    for start, end in zip(found.offsets[:-1], found.offsets[1:], strict=True):
        assert (np.diff(found.contacts[start:end].astype(int)) > 0).all()
