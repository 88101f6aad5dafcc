"""Networks of the hydrogen bonds that form water bridges, as nested dictionaries."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from mdreel.errors import MismatchError

if TYPE_CHECKING:
    from MDAnalysis import Universe

Bond: TypeAlias = tuple[int, int | None, int, int | None, float, float]
"""An atom, its heavy atom or None for an acceptor, the same for the other end, distance (Å) and angle (degrees)."""

Network: TypeAlias = "dict[Bond, Network | None]"
"""Hydrogen bonds, each with those that follow it, or None if it ends in the second selection."""

OUTPUT_FORMATS = ("sele1_sele2", "donor_acceptor")
"""Orders of the two atoms of a hydrogen bond."""

Item = TypeVar("Item")


@dataclass(frozen=True)
class BridgeBonds:
    """The hydrogen bonds of all frames.

    Attributes
    ----------
    atoms : ndarray, shape (n_bonds, 4), int64
        Atom, heavy atom, and the same for the other end. The heavy atom of an acceptor is -1.
    distances, angles : ndarray, shape (n_bonds,), float64
        In Å and degrees.
    pairs : ndarray, shape (n_pairs, 2), int64
        Rows of consecutive bonds, in ascending order.
    offsets : ndarray, shape (n_frames + 1,), int64
        The bonds of frame ``i`` are rows ``offsets[i]`` to ``offsets[i + 1]``.
    starts : ndarray, shape (n_frames,), int64
        Number of bonds of the first selection in each frame. They come first.
    order : int
        Largest number of waters in a bridge.
    """

    atoms: NDArray[np.int64]
    distances: NDArray[np.float64]
    angles: NDArray[np.float64]
    pairs: NDArray[np.int64]
    offsets: NDArray[np.int64]
    starts: NDArray[np.int64]
    order: int

    @property
    def n_frames(self) -> int:
        """Number of frames."""
        return len(self.starts)

    @cached_property
    def _first_pairs(self) -> NDArray[np.intp]:
        """The first pair of each bond, and the end of all."""
        return np.searchsorted(self.pairs[:, 0], np.arange(len(self.atoms) + 1))

    def network(self, i: int) -> Network:
        """Return the network of a frame."""
        first, end = self.offsets[i : i + 2].tolist()
        numbers = zip(
            self.atoms[first:end].tolist(),
            self.distances[first:end].tolist(),
            self.angles[first:end].tolist(),
            strict=True,
        )
        keys: list[Bond] = [
            (a, None if b < 0 else b, c, None if d < 0 else d, distance, angle)
            for (a, b, c, d), distance, angle in numbers
        ]
        pairs = self.pairs[slice(*self._first_pairs[[first, end]].tolist())] - first
        following: dict[int, Network] = {row: {} for row in np.unique(pairs[:, 0]).tolist()}
        for row, other in pairs.tolist():
            following[row][keys[other]] = following.get(other)
        return {keys[row]: following.get(row) for row in range(int(self.starts[i]))}

    def chains(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return the first and the last bond of each bridge of all frames, and its number of waters.

        Returns
        -------
        tuple of ndarray, shape (n_bridges,), int64
            Rows of the bonds, and numbers of waters. The bridges are sorted by number of waters.
        """
        rows = _ranges(self.offsets[:-1], self.starts)
        n_following = np.diff(self._first_pairs)
        begun, found = rows, []
        for n_waters in range(self.order + 1):
            is_last = n_following[rows] == 0
            found.append(np.stack([begun[is_last], rows[is_last], np.full(int(is_last.sum()), n_waters)]))
            begun, rows = begun[~is_last], rows[~is_last]
            counts = n_following[rows]
            begun = np.repeat(begun, counts)
            rows = self.pairs[_ranges(self._first_pairs[rows], counts), 1]
        first, last, waters = np.concatenate(found, axis=1)
        return first, last, waters


def _ranges(firsts: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return consecutive numbers from each of `firsts` on, as many as in `counts`, one range after the other."""
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    joined: NDArray[np.int64] = np.repeat(firsts, counts) + within
    return joined


def bonds_of(network: Network) -> list[Bond]:
    """Return the bonds of a network in the order of a depth-first walk, each bond once."""
    found: list[Bond] = []
    passed: set[Bond] = set()

    def visit(part: Network | None) -> None:
        for bond, following in (part or {}).items():
            if bond not in passed:
                passed.add(bond)
                found.append(bond)
                visit(following)

    for bond, following in network.items():
        found.append(bond)
        visit(following)
    return found


def chains_of(network: Network, order: int) -> Iterator[list[Bond]]:
    """Iterate over the bridges of a network: the bonds from the first selection to the second."""

    def follow(part: Network | None, chain: list[Bond]) -> Iterator[list[Bond]]:
        if part is None:
            yield chain
        elif len(chain) <= order:
            for bond, following in part.items():
                yield from follow(following, [*chain, bond])

    return follow(network, [])


class FrameSequence(Sequence[Item], Generic[Item]):
    """A sequence with one item per frame, which is computed when it is used."""

    def __init__(self, bonds: BridgeBonds) -> None:
        self._bonds = bonds

    def _of_frame(self, i: int) -> Item:
        raise NotImplementedError  # each subclass has its items

    @property
    def shape(self) -> tuple[int]:
        """Number of frames, as the shape of an array."""
        return (len(self),)

    def __len__(self) -> int:
        return self._bonds.n_frames

    @overload
    def __getitem__(self, i: int) -> Item: ...

    @overload
    def __getitem__(self, i: slice) -> list[Item]: ...

    def __getitem__(self, i: int | slice) -> Item | list[Item]:
        places = range(len(self))[i]
        return self._of_frame(places) if isinstance(places, int) else [self._of_frame(place) for place in places]

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Sequence) and list(self) == list(other))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self):,} frames>"


class BridgeNetworks(FrameSequence[Network]):
    """The networks of all frames."""

    def _of_frame(self, i: int) -> Network:
        return self._bonds.network(i)


class BondLabels:
    """Residue names, residue numbers and atom names, for tables of hydrogen bonds.

    Parameters
    ----------
    universe : MDAnalysis.Universe
        The system.
    """

    def __init__(self, universe: Universe) -> None:
        self._atoms = universe.atoms

    @cached_property
    def _labels(self) -> Mapping[str, Sequence[Any]]:
        n_atoms = len(self._atoms)
        return {
            "resnames": np.asarray(getattr(self._atoms, "resnames", [""] * n_atoms)).tolist(),
            "resids": np.asarray(getattr(self._atoms, "resids", self._atoms.resindices + 1)).tolist(),
            "names": np.asarray(self._atoms.names).tolist(),
        }

    def of(self, atom: int) -> tuple[str, int, str]:
        """Return the residue name, the residue number and the name of an atom."""
        labels = self._labels
        return labels["resnames"][atom], labels["resids"][atom], labels["names"][atom]

    def expanded(self, bond: Bond, output_format: str) -> tuple[Any, ...]:
        """Return both atoms of a bond in an order, the labels of both, the distance and the angle."""
        first, heavy, second, _, distance, angle = bond
        if check_format(output_format) == "donor_acceptor" and heavy is None:
            first, second = second, first
        return first, second, self.of(first), self.of(second), distance, angle


class BridgeTimeseries(FrameSequence[list[tuple[Any, ...]]]):
    """The hydrogen bonds of all frames with labels of their atoms."""

    def __init__(self, bonds: BridgeBonds, labels: BondLabels, output_format: str) -> None:
        super().__init__(bonds)
        self._labels, self._format = labels, check_format(output_format)

    def _of_frame(self, i: int) -> list[tuple[Any, ...]]:
        return [self._labels.expanded(bond, self._format) for bond in bonds_of(self._bonds.network(i))]


def check_format(output_format: str) -> str:
    """Return the order of the atoms of a bond after checking that it is known."""
    if output_format not in OUTPUT_FORMATS:
        raise MismatchError(f"output_format must be 'sele1_sele2' or 'donor_acceptor', not {output_format!r}")
    return output_format
