"""Maps, tables and networks of correlations between atoms."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mdreel.analysis.base.analysis import Analysis
from mdreel.analysis.choices import CorrelationValue
from mdreel.analysis.topology.residue_labels import ResidueLabels, atom_columns, atom_coordinates
from mdreel.errors import MismatchError
from mdreel.foundation.arguments import checked_arguments
from mdreel.results.column import Column
from mdreel.results.labelled_array import LabelledArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class CorrelationNetwork(Analysis):
    """Base class that shows the correlations between atoms as a map, a table and a network."""

    @property
    def atom_labels(self) -> list[str]:
        """Unique label of each atom, such as ``"ALA 5"``, or ``"ALA 5 CA"`` if a residue has several of the atoms."""
        labels, names = ResidueLabels.of(self.atomgroup), getattr(self.atomgroup, "names", None)
        texts = labels.texts
        if not self._is_one_per_residue and names is not None:
            texts = [f"{text} {name}".strip() for text, name in zip(texts, names.tolist(), strict=True)]
        counts = Counter(texts)
        numbered = zip(texts, self.atomgroup.ix.tolist(), strict=True)
        return [f"{text} #{index}" if counts[text] > 1 else text for text, index in numbered]

    @checked_arguments
    def edge_list(
        self, min_correlation: float = 0.5, value: CorrelationValue = "correlation"
    ) -> list[tuple[str, str, dict[str, float]]]:
        """Return the correlated pairs of atoms as edges of a network, for ``networkx.Graph.add_edges_from``.

        Parameters
        ----------
        min_correlation : float
            Smallest magnitude of the correlation for which an edge is returned, from 0 to 1.
        value : {"correlation", "generalized_correlation"}
            The result to use.

        Returns
        -------
        list of tuple of str, str and dict
            Labels of both atoms, and three attributes. ``weight`` is the magnitude of the correlation, ``correlation``
            has its sign, and ``distance`` is ``-ln(weight)``, which adds up along the paths of a network. Pairs whose
            correlation is NaN are left out. `save` writes all pairs as a table, which you can import into Cytoscape.

        Raises
        ------
        MismatchError
            If `min_correlation` is not between 0 and 1, or `value` was not computed.

        Examples
        --------
        >>> import MDAnalysis as mda
        >>> import mdreel
        >>> from MDAnalysisTests.datafiles import DCD, PSF
        >>> u = mda.Universe(PSF, DCD)
        >>> motion = mdreel.analysis.CrossCorrelation(u, select="name CA", superposition=True).run()
        >>> len(motion.edge_list(0.9)) < len(motion.edge_list(0.5))
        True
        """
        matrix, labels = self._matrix(value), self.atom_labels
        first, second = self._pairs(matrix, min_correlation)
        edges = zip(first.tolist(), second.tolist(), matrix[first, second].tolist(), strict=True)
        return [
            (
                labels[i],
                labels[j],
                {"weight": abs(x), "correlation": x, "distance": -math.log(abs(x)) if x else math.inf},
            )
            for i, j, x in edges
        ]

    def columns(self) -> Sequence[Column]:
        """Return one row per pair of atoms, with both atoms and their correlation."""
        return self.pair_columns()

    @checked_arguments
    def pair_columns(
        self, min_correlation: float | None = None, value: CorrelationValue = "correlation"
    ) -> Sequence[Column]:
        """Return one row per pair of atoms with a sufficient correlation, with both atoms and their correlation.

        Parameters
        ----------
        min_correlation : float, optional
            Smallest magnitude of the correlation, from 0 to 1. The default is all pairs, including those with NaN.
        value : {"correlation", "generalized_correlation"}
            The result that `min_correlation` refers to.

        Raises
        ------
        MismatchError
            If `min_correlation` is not between 0 and 1, or `value` was not computed.

        Examples
        --------
        >>> import MDAnalysis as mda
        >>> import mdreel
        >>> from MDAnalysisTests.datafiles import DCD, PSF
        >>> u = mda.Universe(PSF, DCD)
        >>> motion = mdreel.analysis.CrossCorrelation(u, select="name CA", superposition=True).run()
        >>> motion.pair_columns(0.5)[-1].name
        'correlation'
        """
        first, second = self._pairs(self._matrix(value), min_correlation)
        atoms = atom_columns(self.atomgroup)
        sides = (("first", first), ("second", second))
        named = [Column(f"{side}_{one.name}", "", one.values[rows]) for side, rows in sides for one in atoms]
        units = self._units
        values = [
            Column(name, units.get(name, ""), self.results[name][first, second])
            for name in ("correlation", "generalized_correlation", "mutual_information")
            if name in self.results
        ]
        return [*named, *values]

    def draw(self, title: str, ax: Axes | None) -> Figure:
        """Draw a map of the correlations."""
        return self._draw_map("correlation", "Correlation", title, ax)

    @checked_arguments
    def plot_generalized(self, ax: Axes | None = None, title: str | None = None) -> Figure:
        """Plot a map of the generalized correlations. See `plot` for the parameters.

        Raises
        ------
        MismatchError
            If the mutual information was not computed.

        Examples
        --------
        >>> import MDAnalysis as mda
        >>> import mdreel
        >>> from MDAnalysisTests.datafiles import DCD, PSF
        >>> u = mda.Universe(PSF, DCD)
        >>> motion = mdreel.analysis.CrossCorrelation(u, "name CA", superposition=True, mutual_information=True).run()
        >>> figure = motion.plot_generalized()
        """
        from mdreel.results.shown_figure import adopt_into_pyplot

        self._matrix("generalized_correlation")
        title = self._describe() if title is None else title
        figure = self._draw_map("generalized_correlation", "Generalized correlation", title, ax)
        if ax is None:
            adopt_into_pyplot(figure)
        return figure

    def _draw_map(self, name: str, label: str, title: str, ax: Axes | None) -> Figure:
        from mdreel.results.residue_map import residue_map

        n_atoms = len(self.atomgroup)
        side = (np.arange(1, n_atoms + 1), "Atom, counted", self.atom_labels)
        if self._is_one_per_residue:
            labels = ResidueLabels.of(self.atomgroup)
            side = (labels.positions, labels.axis, self.atom_labels)
        return residue_map(self.results[name], side, side, label, title, ax)

    @property
    def _is_one_per_residue(self) -> bool:
        """Whether each residue has one of the atoms, and residues are in order."""
        indices = ResidueLabels.of(self.atomgroup).indices
        return bool((np.diff(indices) > 0).all())

    def _result_coordinates(self) -> list[LabelledArray]:
        other = LabelledArray("other_atom", ("other_atom",), "", self.atomgroup.ix.astype(np.int64))
        return [*super()._result_coordinates(), *atom_coordinates(self.atomgroup), other]

    def _matrix(self, value: CorrelationValue) -> NDArray[np.float64]:
        """Return a result that was computed."""
        self._done()
        if value not in ("correlation", "generalized_correlation"):
            raise MismatchError(f"value must be 'correlation' or 'generalized_correlation', not {value!r}")
        if value not in self.results:
            raise MismatchError(f"{value} was not computed: create the analysis with mutual_information=True")
        matrix: NDArray[np.float64] = self.results[value]
        return matrix

    def _pairs(self, matrix: NDArray[np.float64], lowest: float | None) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the rows and columns of all pairs, or of those with at least this magnitude."""
        if lowest is None:
            first, second = np.triu_indices(len(matrix), 1)
            return first, second
        if not 0.0 <= lowest <= 1.0:
            raise MismatchError(f"min_correlation must be 0 to 1, not {lowest:g}")
        first, second = np.nonzero(np.triu(np.abs(matrix) >= lowest, 1))
        return first, second
