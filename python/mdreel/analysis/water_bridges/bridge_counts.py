"""Counts and tables of water bridges."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mdreel.analysis.base.analysis import Analysis
from mdreel.analysis.topology.residue_labels import ResidueLabels
from mdreel.analysis.user.user_functions import function_name
from mdreel.analysis.water_bridges.bridge_networks import (
    Bond,
    BondLabels,
    BridgeBonds,
    BridgeNetworks,
    Network,
    bonds_of,
    chains_of,
    check_format,
)
from mdreel.errors import FunctionError, MdreelWarning
from mdreel.foundation.arguments import checked_arguments
from mdreel.foundation.stack_level import caller_level
from mdreel.results.column import Column
from mdreel.results.labelled_array import LabelledArray
from mdreel.results.series import series_columns

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from MDAnalysis import Universe

Count: TypeAlias = Callable[..., Any]
"""A function that is called with a chain of bonds, a dictionary to change, the Universe, and further arguments."""


class BridgeCounts(Analysis):
    """Base class that counts the water bridges in ``results.network``."""

    u: Universe
    order: int
    output_format: str
    timesteps: Sequence[float] | None
    _labels: BondLabels
    _bonds: BridgeBonds

    @checked_arguments
    def count_by_type(self, analysis_func: Callable[..., Any] | None = None, **kwargs: Any) -> list[Any] | None:
        """Return how many water bridges of each type there are in a frame on average.

        Parameters
        ----------
        analysis_func : callable, optional
            Function that is called for each water bridge of a frame with the list of its hydrogen bonds, a dictionary,
            and the Universe. It changes the dictionary, whose keys are types and whose default value is 0. By default,
            the type consists of the first and the last atom.
        **kwargs
            Further arguments of `analysis_func`.

        Returns
        -------
        list or None
            One list per type: the indices of the first and the last atom, residue name, residue number and atom name of
            both, and the mean number. With `analysis_func`, one tuple per type with its key and the mean number. None
            if there are no results.

        Examples
        --------
        >>> import MDAnalysis as mda
        >>> from MDAnalysisTests.datafiles import waterPSF, waterDCD
        >>> from mdreel.analysis import WaterBridgeAnalysis
        >>> u = mda.Universe(waterPSF, waterDCD)
        >>> water = WaterBridgeAnalysis(u, "resid 5 7", "resid 8", "resid 15 21", order=2).run()
        >>> len(water.count_by_type())
        2
        """
        networks = self._networks()
        if networks is None:
            return None
        sums: dict[Any, Any] = defaultdict(int)
        for network in networks:
            for key, value in self._counted(network, analysis_func, kwargs).items():
                sums[key] += value
        shares = ((key, value / len(networks)) for key, value in sums.items())
        return [[*key, share] for key, share in shares] if analysis_func is None else list(shares)

    @checked_arguments
    def count_by_time(
        self, analysis_func: Callable[..., Any] | None = None, **kwargs: Any
    ) -> list[tuple[float, Any]] | None:
        """Return the time of each frame in ps and the number of its water bridges. See `count_by_type`."""
        networks = self._networks()
        if networks is None:
            return None
        if analysis_func is None and isinstance(networks, BridgeNetworks):
            return list(zip(self._steps(networks), self.results.counts.tolist(), strict=True))
        return [
            (time, sum(self._counted(network, analysis_func, kwargs).values()))
            for time, network in zip(self._steps(networks), networks, strict=True)
        ]

    @checked_arguments
    def timesteps_by_type(self, analysis_func: Callable[..., Any] | None = None, **kwargs: Any) -> list[Any] | None:
        """Return the times of the frames in which water bridges of each type exist.

        Parameters
        ----------
        analysis_func : callable, optional
            Function as for `count_by_type`, which receives the time of the frame in ps as ``time``. The default value
            of the dictionary is an empty list of times.
        **kwargs
            Further arguments of `analysis_func`.

        Returns
        -------
        list or None
            One list per bridge and frame. As in MDAnalysis, it contains the type, followed by the times of all frames
            so far in which a bridge of this type exists. With `analysis_func`, one tuple per bridge and frame, with the
            key and the time. None if there are no results.
        """
        networks = self._networks()
        if networks is None:
            return None
        times: dict[Any, list[float]] = defaultdict(list)
        for time, network in zip(self._steps(networks), networks, strict=True):
            for chain in chains_of(network, self.order):
                if analysis_func is None:
                    times[self._type_of(chain)].append(time)
                else:
                    _call(analysis_func, chain, times, self.u, time=time, **kwargs)
        if analysis_func is not None:
            return [(key, time) for key, of_type in times.items() for time in of_type]
        return [[*key, *of_type[: i + 1]] for key, of_type in times.items() for i in range(len(of_type))]

    @checked_arguments
    def generate_table(self, output_format: str | None = None) -> Any:
        """Return a table with one row per hydrogen bond and frame.

        Parameters
        ----------
        output_format : {"sele1_sele2", "donor_acceptor"}, optional
            Order of the two atoms. The default is `output_format` of the analysis.

        Returns
        -------
        numpy.recarray or None
            Time (ps), indices of both atoms, residue names, residue numbers and atom names of both, distance (Å) and
            angle (degrees). Names have at most four letters. None if there are no results.

        Warns
        -----
        MdreelWarning
            If there are no results.
        """
        chosen = check_format(output_format or self.output_format)
        networks = self._networks()
        if networks is None:
            warnings.warn("there are no water bridges yet: call run() first", MdreelWarning, stacklevel=caller_level())
            return None
        rows = []
        for time, network in zip(self._steps(networks), networks, strict=True):
            for bond in bonds_of(network):
                first, second, of_first, of_second, distance, angle = self._labels.expanded(bond, chosen)
                rows.append((time, first, second, *of_first, *of_second, distance, angle))
        sides = ("sele1", "sele2") if chosen == "sele1_sele2" else ("donor", "acceptor")
        parts = (("resnm", "U4"), ("resid", "i8"), ("atom", "U4"))
        dtype = [("time", "f8"), *((f"{side}_index", "i8") for side in sides)]
        dtype += [(f"{side}_{part}", kind) for side in sides for part, kind in parts]
        dtype += [("distance", "f8"), ("angle", "f8")]
        table = np.array(rows, dtype=dtype).view(np.recarray)
        self.table = table
        return table

    def _networks(self) -> Sequence[Network] | None:
        """Return the networks of all frames, or None if there are none."""
        return self.results.get("network") or None

    def _steps(self, networks: Sequence[Network]) -> Sequence[float]:
        return range(len(networks)) if self.timesteps is None else self.timesteps

    def _counted(self, network: Network, function: Count | None, arguments: dict[str, Any]) -> dict[Any, Any]:
        """Return the counts of a frame by type."""
        counts: dict[Any, Any] = defaultdict(int)
        for chain in chains_of(network, self.order):
            if function is None:
                counts[self._type_of(chain)] += 1
            else:
                _call(function, chain, counts, self.u, **arguments)
        return counts

    def _type_of(self, chain: list[Bond]) -> tuple[Any, ...]:
        """Return the first atom of the first bond and the second of the last, and their labels."""
        first, _, of_first, *_ = self._labels.expanded(chain[0], self.output_format)
        _, last, _, of_last, *_ = self._labels.expanded(chain[-1], self.output_format)
        return first, last, *of_first, *of_last

    def columns(self) -> Sequence[Column]:
        """Return one row per pair of atoms that are linked at any time, with the fraction of the frames."""
        first, last, waters = self._bonds.chains()
        ends = np.stack([self._bonds.atoms[first, 0], self._bonds.atoms[last, 2]], axis=1)
        pairs, places = np.unique(ends, axis=0, return_inverse=True)
        places = places.ravel()
        frames = np.searchsorted(self._bonds.offsets, first, side="right") - 1
        present = np.unique(np.stack([places, frames], axis=1), axis=0)[:, 0]
        fewest = np.full(len(pairs), self.order, np.int64)
        np.minimum.at(fewest, places, waters)
        n_frames = max(self.n_frames, 1)
        return [
            *self._atom_columns(pairs),
            Column("frequency", "", np.bincount(present, minlength=len(pairs)) / n_frames),
            Column("bridges_per_frame", "", np.bincount(places, minlength=len(pairs)) / n_frames),
            Column("fewest_waters", "", fewest),
        ]

    def bond_columns(self) -> Sequence[Column]:
        """Return one row per hydrogen bond of the bridges in each frame, with its distance and angle."""
        self._done()
        rows = self._bonds
        counts = np.diff(rows.offsets)
        return [
            *series_columns(np.repeat(self.frames, counts), np.repeat(self.times, counts)),
            *self._atom_columns(rows.atoms[:, [0, 2]]),
            Column("distance", "Å", rows.distances),
            Column("angle", "°", rows.angles),
        ]

    def _atom_columns(self, pairs: NDArray[np.int64]) -> list[Column]:
        """Return columns that identify both atoms of each pair."""
        atoms = self.u.atoms[pairs.T.ravel()]
        labels = ResidueLabels.of(atoms).columns()
        names = np.asarray(atoms.names, np.str_)
        columns = []
        for side, part in (("first", slice(0, len(pairs))), ("second", slice(len(pairs), None))):
            columns += [Column(f"{side}_atom", "", atoms.ix[part].astype(np.int64))]
            columns += [Column(f"{side}_{one.name}", "", one.values[part]) for one in labels]
            columns += [Column(f"{side}_name", "", names[part])]
        return columns

    def _key_arrays(self) -> list[LabelledArray]:
        """Return the results whose range is shown in the notebook summary. Indices are omitted."""
        return [one for one in super()._key_arrays() if one.name in ("counts", "distances", "angles")]

    def draw(self, title: str, ax: Axes | None) -> Figure:
        """Draw the number of water bridges over time."""
        from mdreel.results.figure import time_series

        counts = self.results.counts.astype(np.float64)
        return time_series(self.times, counts, "Water bridges", title, ax, frames=self.frames)


def _call(function: Count, chain: list[Bond], output: dict[Any, Any], universe: Any, **arguments: Any) -> None:
    """Call a function of the user for a bridge."""
    try:
        function(chain, output, universe, **arguments)
    except TypeError as error:
        given = "".join(f", {name}=" for name in arguments)
        message = f"{function_name(function)} is called as analysis_func(bonds, output, universe{given}): {error}"
        raise FunctionError(message) from error
