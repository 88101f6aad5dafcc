"""Maps, tables and networks of contacts between residues."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, get_args

import numpy as np
from numpy.typing import NDArray

from mdreel.analysis.base.analysis import Analysis
from mdreel.analysis.choices import ContactValue
from mdreel.analysis.survival import mean_interval, stays
from mdreel.analysis.topology.residue_labels import ResidueLabels
from mdreel.errors import MismatchError
from mdreel.foundation.arguments import checked_arguments
from mdreel.foundation.size_check import check_size
from mdreel.results.column import Column
from mdreel.results.labelled_array import LabelledArray
from mdreel.results.series import series_columns

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from MDAnalysis import AtomGroup, ResidueGroup


class ContactMaps(Analysis):
    """Base class that shows the statistics for the residue pairs in ``results.pairs`` as maps."""

    _groups: Sequence[AtomGroup]
    """The atoms of one group, or of two groups between which contacts are counted."""

    @property
    def residues(self) -> ResidueGroup:
        """The residues in the rows of `contact_map`, from `atomgroup` or `pairs`, in the order of the Universe."""
        return self._groups[0].residues

    @property
    def other_residues(self) -> ResidueGroup:
        """The residues in the columns of `contact_map`, from `other`, in the order of the Universe."""
        return self._groups[-1].residues

    @property
    def interval(self) -> float:
        """Mean time between consecutive analysed frames in ps, or 0 for a single frame."""
        return mean_interval(self.times)

    @property
    def residue_labels(self) -> list[str]:
        """Unique label of each residue in `residues`, such as ``"ALA 5"``."""
        return ResidueLabels.of(self.residues).texts

    @checked_arguments
    def contact_map(self, value: ContactValue = "frequency") -> NDArray[np.float64]:
        """Return a value for each pair of residues as a dense array.

        Parameters
        ----------
        value : {"frequency", "mean", "minimum", "lifetime"}
            The result to return.

        Returns
        -------
        ndarray, shape (n_residues, n_other_residues), float64
            The values. The rows correspond to `residues`, and the columns correspond to `other_residues`. For one
            group, the array is symmetric. For pairs that were never in contact, the frequency and the lifetime are 0,
            and the distances are NaN.

        Raises
        ------
        MismatchError
            If `value` is unknown, or if the array does not fit into memory.

        Examples
        --------
        >>> import MDAnalysis as mda
        >>> import mdreel
        >>> from MDAnalysisTests.datafiles import DCD, PSF
        >>> contacts = mdreel.ResidueContacts(mda.Universe(PSF, DCD)).run(stop=5)
        >>> float(contacts.contact_map()[0, 25])
        1.0
        """
        self._done()
        if value not in get_args(ContactValue):
            raise MismatchError(f"value must be 'frequency', 'mean', 'minimum' or 'lifetime', not {value!r}")
        rows, columns = self.residues.ix, self.other_residues.ix
        remedy = "use the pairs in results, or select fewer residues"
        check_size("values of all pairs", 8.0 * len(rows) * len(columns), remedy)
        found = np.full((len(rows), len(columns)), np.nan if value in ("mean", "minimum") else 0.0)
        pairs = self.results.pairs
        for first, second in (pairs.T, pairs.T[::-1]):
            row, column = (np.searchsorted(each, side) for each, side in ((rows, first), (columns, second)))
            is_here = np.isin(first, rows) & np.isin(second, columns)
            found[row[is_here], column[is_here]] = self.results[value][is_here]
        return found

    @checked_arguments
    def difference(self, other: ContactMaps) -> NDArray[np.float64]:
        """Return the contact frequencies minus those of another run, for example of a mutant or another state.

        Parameters
        ----------
        other : ResidueContacts
            The other run. It must contain the same number of residues in the same order.

        Returns
        -------
        ndarray, shape (n_residues, n_other_residues), float64
            Differences between the frequencies, from -1 to 1.

        Raises
        ------
        MismatchError
            If the numbers of residues or the residue numbers differ.

        Examples
        --------
        >>> import MDAnalysis as mda
        >>> import mdreel
        >>> from MDAnalysisTests.datafiles import DCD, PSF
        >>> u = mda.Universe(PSF, DCD)
        >>> early = mdreel.ResidueContacts(u).run(stop=49)
        >>> late = mdreel.ResidueContacts(u).run(start=49)
        >>> late.difference(early).shape
        (214, 214)
        """
        sides = ((self.residues, other.residues), (self.other_residues, other.other_residues))
        for ours, theirs in sides:
            if len(ours) != len(theirs):
                raise MismatchError(f"the runs have {len(ours):,} and {len(theirs):,} residues: select the same ones")
            differ = np.flatnonzero(ours.resids != theirs.resids)
            if len(differ):
                first, second = ours.resids[differ[0]], theirs.resids[differ[0]]
                message = f"residue {differ[0]} has the number {first} in one run and {second} in the other"
                raise MismatchError(f"{message}: select the same residues")
        return self.contact_map() - other.contact_map()

    @checked_arguments
    def edge_list(self, min_frequency: float = 0.0) -> list[tuple[str, str, dict[str, float]]]:
        """Return the contacts as edges of a network, for ``networkx.Graph.add_edges_from``.

        Parameters
        ----------
        min_frequency : float
            Lowest contact frequency for which an edge is returned.

        Returns
        -------
        list of tuple of str, str and dict
            Labels of both residues, and the attributes ``weight`` (frequency), ``mean`` (Å) and ``lifetime`` (ps).
            `save` writes the same table, which you can import into Cytoscape.

        Examples
        --------
        >>> import MDAnalysis as mda
        >>> import mdreel
        >>> from MDAnalysisTests.datafiles import DCD, PSF
        >>> contacts = mdreel.ResidueContacts(mda.Universe(PSF, DCD)).run(stop=5)
        >>> contacts.edge_list(min_frequency=0.5)[0][:2]
        ('MET 1', 'TYR 24')
        """
        self._done()
        found = self.results
        nodes = np.union1d(self.residues.ix, self.other_residues.ix)
        labels = ResidueLabels.of(self._atomgroup.universe.residues[nodes]).texts
        pairs = np.searchsorted(nodes, found.pairs).tolist()
        values = zip(found.frequency.tolist(), found.mean.tolist(), found.lifetime.tolist(), strict=True)
        return [
            (labels[first], labels[second], {"weight": weight, "mean": mean, "lifetime": lifetime})
            for (first, second), (weight, mean, lifetime) in zip(pairs, values, strict=True)
            if weight >= min_frequency
        ]

    @checked_arguments
    def contacts_in(self, i: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Return the contacts in an analysed frame.

        Parameters
        ----------
        i : int
            Number of the analysed frame, starting from 0.

        Returns
        -------
        ndarray, shape (n_contacts, 2), int64
            Universe indices of the residues.
        ndarray, shape (n_contacts,), float32
            Distances in Å.

        Raises
        ------
        MismatchError
            If the frame was not analysed, or if the contacts of each frame were not kept.

        Examples
        --------
        >>> import MDAnalysis as mda
        >>> import mdreel
        >>> from MDAnalysisTests.datafiles import DCD, PSF
        >>> contacts = mdreel.ResidueContacts(mda.Universe(PSF, DCD)).run(stop=5)
        >>> pairs, distances = contacts.contacts_in(0)
        >>> len(pairs) == len(distances) == int(contacts.results.counts[0])
        True
        """
        offsets = self._kept()
        if not -self.n_frames <= i < self.n_frames:
            raise MismatchError(f"frame {i} was not analysed: give a number below {self.n_frames:,}")
        places = slice(*offsets[range(self.n_frames)[i] :][:2])
        return self.results.pairs[self.results.contacts[places]], self.results.distances[places]

    @checked_arguments
    def stays(self, intermittency: int = 0) -> NDArray[np.int64]:
        """Return each uninterrupted contact with its first frame and its length.

        Parameters
        ----------
        intermittency : int
            Largest number of consecutive frames in which a contact may be absent and still be considered uninterrupted.

        Returns
        -------
        ndarray, shape (n_stays, 3), int64
            Row of ``results.pairs``, number of the first analysed frame, and number of frames, sorted by row and then
            by time. A contact that begins in the first frame or ends in the last frame may have been longer.

        Raises
        ------
        MismatchError
            If `intermittency` is negative, or if the contacts of each frame were not kept.

        Examples
        --------
        >>> import MDAnalysis as mda
        >>> import mdreel
        >>> from MDAnalysisTests.datafiles import DCD, PSF
        >>> contacts = mdreel.ResidueContacts(mda.Universe(PSF, DCD)).run()
        >>> len(contacts.stays()) == int(contacts.results.events.sum())
        True
        """
        if intermittency < 0:
            raise MismatchError(f"intermittency must be 0 or more frames, not {intermittency}")
        places = np.repeat(np.arange(self.n_frames), np.diff(self._kept()))
        return stays(places, self.results.contacts.astype(np.int64), self.n_frames, intermittency)

    def columns(self) -> Sequence[Column]:
        """Return one row per pair that was ever in contact, with both residues and their statistics."""
        found = self.results
        return [
            *self._residue_columns(found.pairs),
            Column("frequency", "", found.frequency),
            Column("mean_distance", "Å", found.mean),
            Column("minimum_distance", "Å", found.minimum),
            Column("events", "", found.events),
            Column("duration_frames", "", found.duration),
            Column("lifetime", "ps", found.lifetime),
            Column("first_frame", "", found.first_frame),
        ]

    def contact_columns(self) -> Sequence[Column]:
        """Return one row per contact in each frame, with the frame, the time, both residues and the distance.

        Raises
        ------
        MismatchError
            If the contacts of each frame were not kept.
        """
        counts = np.diff(self._kept())
        return [
            *series_columns(np.repeat(self.frames, counts), np.repeat(self.times, counts)),
            *self._residue_columns(self.results.pairs[self.results.contacts]),
            Column("distance", "Å", self.results.distances.astype(np.float64)),
        ]

    def _residue_columns(self, pairs: NDArray[np.int64]) -> list[Column]:
        """Return columns that identify both residues of each pair."""
        labels = ResidueLabels.of(self._atomgroup.universe.residues[pairs.T.ravel()]).columns()
        sides = [("first", slice(0, len(pairs))), ("second", slice(len(pairs), None))]
        return [Column(f"{side}_{one.name}", "", one.values[part]) for side, part in sides for one in labels]

    def draw(self, title: str, ax: Axes | None) -> Figure:
        """Draw a map of the contact frequencies."""
        return self._draw_map(self.contact_map(), "Fraction of frames in contact", title, ax)

    @checked_arguments
    def plot_difference(self, other: ContactMaps, ax: Axes | None = None, title: str | None = None) -> Figure:
        """Plot a map of the `difference` from another run. See `plot` for the other parameters."""
        from mdreel.results.shown_figure import adopt_into_pyplot

        title = self._describe() if title is None else title
        figure = self._draw_map(self.difference(other), "Difference of the fractions of frames", title, ax)
        if ax is None:
            adopt_into_pyplot(figure)
        return figure

    def _draw_map(self, values: NDArray[np.float64], label: str, title: str, ax: Axes | None) -> Figure:
        from mdreel.results.residue_map import residue_map

        sides = [ResidueLabels.of(each) for each in (self.residues, self.other_residues)]
        axes = [(one.positions, one.axis, one.texts) for one in sides]
        return residue_map(values, axes[0], axes[1], label, title, ax)

    def _key_arrays(self) -> list[LabelledArray]:
        """Return the results whose range is shown in the notebook summary. Indices are omitted."""
        return [one for one in super()._key_arrays() if one.name not in ("pairs", "contacts", "offsets", "first_frame")]

    def _kept(self) -> NDArray[np.int64]:
        """Return the offset of the first contact of each frame, if the contacts were kept."""
        self._done()
        if "offsets" not in self.results:
            raise MismatchError("the contacts of each frame were not kept: create the analysis with series=True")
        offsets: NDArray[np.int64] = self.results.offsets
        return offsets
