"""Tables, networks and plots of interaction fingerprints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mdreel.analysis.fingerprints.fingerprint_vectors import FingerprintVectors
from mdreel.analysis.fingerprints.interactions import BRIDGE, DEFINITIONS
from mdreel.analysis.fingerprints.prolif_labels import ProlifLabels
from mdreel.analysis.topology.residue_labels import ResidueLabels
from mdreel.errors import MismatchError
from mdreel.foundation.arguments import checked_arguments
from mdreel.results.column import Column
from mdreel.results.labelled_array import LabelledArray
from mdreel.results.series import series_columns

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Occurrence(NamedTuple):
    """An interaction between sites of two residues in a frame.

    Attributes
    ----------
    residues : tuple of int and int
        Indices of the residues in the Universe.
    interaction : str
        Name of the interaction.
    atoms : tuple of int
        Indices of the atoms of the site in the first group.
    other_atoms : tuple of int
        Indices of the atoms of the site in the second group.
    distance : float
        Distance in Å. For a water bridge, it is the sum of the distances of its hydrogen bonds.
    waters : tuple of int
        Indices of the residues of the waters in a water bridge, from the first group to the second. Their number is the
        order of the bridge.
    """

    residues: tuple[int, int]
    interaction: str
    atoms: tuple[int, ...]
    other_atoms: tuple[int, ...]
    distance: float
    waters: tuple[int, ...] = ()


class FingerprintTables(FingerprintVectors):
    """Base class that shows the interactions in ``results.entries`` as tables, networks and plots."""

    _sites: Sequence[dict[str, list[tuple[int, ...]]]]
    _indices: NDArray[np.int64]
    _names: Sequence[str]

    @checked_arguments
    def edge_list(self, min_frequency: float = 0.0) -> list[tuple[str, str, dict[str, Any]]]:
        """Return the interactions as edges of a network, for ``networkx.MultiGraph.add_edges_from``.

        Parameters
        ----------
        min_frequency : float
            Lowest frequency for which an edge is returned.

        Returns
        -------
        list of tuple of str, str and dict
            Labels of both residues, and the attributes ``interaction``, ``weight`` (frequency) and ``occurrences``
            (mean number in the frames in which the interaction is present).

        Examples
        --------
        >>> import MDAnalysis as mda
        >>> from MDAnalysisTests.datafiles import DCD, PSF
        >>> from mdreel.analysis import InteractionFingerprint
        >>> u = mda.Universe(PSF, DCD)
        >>> lid, core = u.select_atoms("resid 122:159"), u.select_atoms("resid 1:121 160:214")
        >>> salt_bridges = InteractionFingerprint(lid, core, ["Cationic", "Anionic"]).run()
        >>> salt_bridges.edge_list(min_frequency=0.9)[0][2]["interaction"]
        'Cationic'
        """
        self._done()
        found = self.results
        nodes = np.union1d(self.residues.ix, self.other_residues.ix)
        labels = ResidueLabels.of(self._atomgroup.universe.residues[nodes]).texts
        pairs = np.searchsorted(nodes, found.pairs).tolist()
        rows = zip(pairs, found.interactions.tolist(), found.frequency.tolist(), self._means().tolist(), strict=True)
        return [
            (labels[first], labels[second], {"interaction": name, "weight": weight, "occurrences": mean})
            for (first, second), name, weight, mean in rows
            if weight >= min_frequency
        ]

    @checked_arguments
    def occurrences_in(self, i: int) -> list[Occurrence]:
        """Return the interactions in an analysed frame with their atoms.

        Parameters
        ----------
        i : int
            Number of the analysed frame, starting from 0.

        Returns
        -------
        list of Occurrence
            Residues, interaction, atoms of both sites and distance in Å of each occurrence. A site is a single atom, a
            ring, or two bonded atoms. Two bonded atoms are a donor with its hydrogen or halogen, or the acceptor of a
            halogen bond with its neighbour.

        Raises
        ------
        MismatchError
            If the frame was not analysed, or if the atoms were not kept.

        Examples
        --------
        >>> import MDAnalysis as mda
        >>> from MDAnalysisTests.datafiles import DCD, PSF
        >>> from mdreel.analysis import InteractionFingerprint
        >>> u = mda.Universe(PSF, DCD)
        >>> lid, core = u.select_atoms("resid 122:159"), u.select_atoms("resid 1:121 160:214")
        >>> bonds = InteractionFingerprint(lid, core, ["HBDonor"], atom_indices=True).run(stop=1)
        >>> bond = bonds.occurrences_in(0)[0]
        >>> len(bond.atoms), len(bond.other_atoms)
        (2, 1)
        """
        self._done()
        found = self.results
        if "sites" not in found:
            raise MismatchError("the atoms were not kept: create the analysis with atom_indices=True")
        if not -self.n_frames <= i < self.n_frames:
            raise MismatchError(f"frame {i} was not analysed: give a number below {self.n_frames:,}")
        start, end = found.offsets[range(self.n_frames)[i] :][:2].tolist()
        starts = np.cumsum(found.occurrences[:end], dtype=np.int64)
        first = int(starts[start - 1]) if start else 0
        columns = np.repeat(found.entries[start:end], found.occurrences[start:end]).tolist()
        rows = slice(first, first + len(columns))
        passed = self._waters_of(rows)
        listed = []
        for column, (one, other), distance, waters in zip(
            columns, found.sites[rows].tolist(), found.distances[rows].tolist(), passed, strict=True
        ):
            name = str(found.interactions[column])
            residues = tuple(found.pairs[column].tolist())
            atoms = [self._atoms_of(side, name, site) for side, site in enumerate((one, other))]
            listed.append(Occurrence((residues[0], residues[1]), name, atoms[0], atoms[1], distance, waters))
        return listed

    def _waters_of(self, rows: slice) -> list[tuple[int, ...]]:
        """Return the residues of the waters of some occurrences."""
        if "n_waters" not in self.results:
            return [()] * (rows.stop - rows.start)
        ends = np.cumsum(self.results.n_waters[: rows.stop], dtype=np.int64)
        first = int(ends[rows.start - 1]) if rows.start else 0
        each = np.split(self.results.waters[first : ends[-1] if len(ends) else 0], ends[rows] - first)
        return [tuple(waters.tolist()) for waters in each[:-1]]

    def _atoms_of(self, side: int, name: str, site: int) -> tuple[int, ...]:
        """Return the indices of the atoms of a site in the Universe."""
        sites = self._sites[side]
        is_bridge = name == BRIDGE
        of_kind = [*sites["acceptors"], *sites["donors"]] if is_bridge else sites[DEFINITIONS[name].sites[side]]
        atoms = of_kind[site]
        return tuple(self._indices[list(atoms)].tolist())

    @checked_arguments
    def to_dataframe(self, library: str = "pandas", *, count: bool = False, drop_empty: bool = True) -> Any:
        """Return the fingerprint as a data frame with the layout of ProLIF.

        Parameters
        ----------
        library : {"pandas", "polars"}
            Library of the data frame. It must be installed.
        count : bool
            Whether to return the number of occurrences instead of their presence.
        drop_empty : bool
            Whether to leave out interactions that two residues never have. Pairs of residues that never interact are
            always left out.

        Returns
        -------
        pandas.DataFrame or polars.DataFrame
            One row per frame. In pandas, the index is ``Frame``, and the columns have the levels ``ligand``,
            ``protein`` and ``interaction``, with residues such as ``"ASP129.A"``. In polars, the first column is
            ``Frame``, and the levels are joined by blanks.

        Raises
        ------
        MismatchError
            If `library` is unknown, or if the table does not fit into memory.
        UnsupportedError
            If the library is not installed.
        """
        from mdreel.results.data_frame import check_library, wide_frame

        check_library(library)
        return wide_frame(self.frames, *self._wide(count, drop_empty), library)

    def _wide(self, count: bool, drop_empty: bool) -> tuple[list[tuple[str, str, str]], NDArray[Any]]:
        """Return the names of the columns in the order of ProLIF, and their values."""
        values, found = self.matrix(count), self.results
        labels = ProlifLabels.of(self._atomgroup.universe)
        column_of = {
            (*pair, name): column
            for column, (pair, name) in enumerate(zip(found.pairs.tolist(), found.interactions.tolist(), strict=True))
        }
        pairs = sorted({key[:2] for key in column_of}, key=lambda pair: (labels.order(pair[0]), labels.order(pair[1])))
        names, chosen = [], []
        for first, second in pairs:
            for name in self._names:
                column = column_of.get((first, second, name), -1)
                if column >= 0 or not drop_empty:
                    names.append((labels.text(first), labels.text(second), name))
                    chosen.append(column)
        table = np.zeros((len(values), len(chosen)), values.dtype)
        is_found = np.array(chosen, np.intp) >= 0
        table[:, is_found] = values[:, np.array(chosen, np.intp)[is_found]]
        return names, table

    def columns(self) -> Sequence[Column]:
        """Return one row per interaction of two residues, with its frequency and mean number of occurrences."""
        found = self.results
        order = np.argsort(found.entries, kind="stable")
        first = order[np.searchsorted(found.entries[order], np.arange(len(found.pairs)))]
        frames = np.repeat(self.frames, found.counts)
        return [
            *self._residue_columns(found.pairs),
            Column("interaction", "", found.interactions),
            Column("frequency", "", found.frequency),
            Column("mean_occurrences", "", self._means()),
            Column("first_frame", "", frames[first]),
        ]

    def entry_columns(self) -> Sequence[Column]:
        """Return one row per interaction of two residues in each frame, with the number of its occurrences."""
        self._done()
        found = self.results
        return [
            *series_columns(np.repeat(self.frames, found.counts), np.repeat(self.times, found.counts)),
            *self._residue_columns(found.pairs[found.entries]),
            Column("interaction", "", found.interactions[found.entries]),
            Column("occurrences", "", found.occurrences.astype(np.int64)),
        ]

    def count_columns(self) -> Sequence[Column]:
        """Return one row per frame: the number of interactions, and the number of those of each kind."""
        self._done()
        found = self.results
        kinds = np.array([self._names.index(name) for name in found.interactions.tolist()], np.int64)
        rows = np.repeat(np.arange(self.n_frames), found.counts) * len(self._names) + kinds[found.entries]
        counts = np.bincount(rows, minlength=self.n_frames * len(self._names)).reshape(-1, len(self._names))
        return [
            *series_columns(self.frames, self.times),
            Column("interactions", "", found.counts),
            *(Column(name, "", counts[:, number].copy()) for number, name in enumerate(self._names)),
        ]

    def watched_columns(self) -> Sequence[Column]:
        """Return the number of interactions of each kind in each frame, which `mdreel watch` shows."""
        return self.count_columns()

    def _means(self) -> NDArray[np.float64]:
        """Return the mean number of occurrences of each column in the frames in which it is present."""
        found = self.results
        n_columns = len(found.pairs)
        sums = np.bincount(found.entries, found.occurrences, minlength=n_columns)
        means: NDArray[np.float64] = sums / np.maximum(np.bincount(found.entries, minlength=n_columns), 1)
        return means

    def _residue_columns(self, pairs: NDArray[np.int64]) -> list[Column]:
        """Return columns that identify both residues of each pair."""
        labels = ResidueLabels.of(self._atomgroup.universe.residues[pairs.T.ravel()]).columns()
        sides = [("first", slice(0, len(pairs))), ("second", slice(len(pairs), None))]
        return [Column(f"{side}_{one.name}", "", one.values[part]) for side, part in sides for one in labels]

    def draw(self, title: str, ax: Axes | None) -> Figure:
        """Draw a barcode: the frames in which each interaction is present."""
        from mdreel.results.barcode import barcode

        found = self.results
        kept, names = self._most_frequent()
        frames = np.repeat(np.arange(self.n_frames), found.counts)
        rows = np.full(len(found.pairs), -1, np.int64)
        rows[kept] = np.arange(len(kept))
        is_shown = rows[found.entries] >= 0
        at, row = frames[is_shown], rows[found.entries][is_shown]
        return barcode(self.times, names, found.interactions[kept].tolist(), at, row, title, ax)

    def _most_frequent(self) -> tuple[NDArray[np.intp], list[str]]:
        """Return the columns that a barcode shows, in their order, and their labels."""
        from mdreel.results.barcode import MOST_ROWS

        found = self.results
        order = np.argsort(-found.frequency, kind="stable")[:MOST_ROWS]
        kept = np.sort(order)
        nodes = np.union1d(self.residues.ix, self.other_residues.ix)
        labels = ResidueLabels.of(self._atomgroup.universe.residues[nodes]).texts
        pairs = np.searchsorted(nodes, found.pairs[kept]).tolist()
        names = found.interactions[kept].tolist()
        return kept, [
            f"{labels[first]} – {labels[second]} {name}" for (first, second), name in zip(pairs, names, strict=True)
        ]

    @checked_arguments
    def plot_network(self, min_frequency: float = 0.3, ax: Axes | None = None, title: str | None = None) -> Figure:
        """Plot the residues of both groups as a network, with one line per interaction.

        Parameters
        ----------
        min_frequency : float
            Lowest frequency of an interaction that is shown.
        ax : matplotlib.axes.Axes, optional
            Axes to draw into. By default, a new figure is created.
        title : str, optional
            Title of the figure. By default, the title describes the analysis.

        Returns
        -------
        matplotlib.figure.Figure
            The figure. The width of a line is proportional to the frequency of the interaction.

        Raises
        ------
        MismatchError
            If no interaction is as frequent.
        """
        from mdreel.results.interaction_network import interaction_network
        from mdreel.results.shown_figure import adopt_into_pyplot

        edges = self.edge_list(min_frequency)
        if not edges:
            raise MismatchError(f"no interaction has a frequency of at least {min_frequency:g}: lower min_frequency")
        rows = [(first, second, each["interaction"], each["weight"]) for first, second, each in edges]
        figure = interaction_network(rows, self._describe() if title is None else title, ax)
        if ax is None:
            adopt_into_pyplot(figure)
        return figure

    def _key_arrays(self) -> list[LabelledArray]:
        """Return the results whose range is shown in the notebook summary. Indices are omitted."""
        return [one for one in super()._key_arrays() if one.name in ("counts", "frequency", "distances")]

    def _describe(self) -> str:
        residues = f"{len(self.residues):,} residues"
        if len(self._groups) > 1:
            residues += f" and {len(self.other_residues):,} others"
        return f"{residues}, {self.n_frames:,} frames" if self._outcome is not None else f"{residues}, not run"
