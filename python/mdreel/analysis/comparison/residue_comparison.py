"""Base class for comparisons that yield one value of each frame, and one of each residue."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from mdreel.analysis.base.frame_columns import wide_columns
from mdreel.analysis.comparison.reference_comparison import ReferenceComparison
from mdreel.execution.tally import Tally
from mdreel.foundation.arguments import checked_arguments
from mdreel.results.column import Column
from mdreel.results.labelled_array import LabelledArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class ResidueComparison(ReferenceComparison):
    """Base class for comparisons that yield one value of each frame, and one of each residue."""

    _quantity: ClassVar[str]
    """Name of the result, which ``residue_`` precedes for the values of residues."""
    _axis_label: ClassVar[str]
    """Name of the quantity in figures, with its unit."""
    _unit: ClassVar[str] = ""

    def conclude(self, tally: Tally) -> None:
        """Store the value of each frame, and the values of its residues."""
        values = tally.values
        self.results[self._quantity] = np.ascontiguousarray(values[:, 0])
        self.results[f"residue_{self._quantity}"] = np.ascontiguousarray(values[:, 1:])

    @property
    def _residue_values(self) -> NDArray[np.float64]:
        """The values of the residues, shape (n_frames, n_residues)."""
        self._done()
        values: NDArray[np.float64] = self.results[f"residue_{self._quantity}"]
        return values

    def columns(self) -> Sequence[Column]:
        """Return columns with the frame, the time, the value of the frame, and that of each residue."""
        labels = [f"{self._quantity}_{one.lower().replace(' ', '_')}" for one in self.residue_labels]
        values = np.column_stack([self.results[self._quantity], self._residue_values])
        return wide_columns(self.frames, self.times, values, [self._quantity, *labels], self._unit)

    def residue_columns(self) -> Sequence[Column]:
        """Return columns that identify each residue, with the mean and standard deviation over all frames.

        Returns
        -------
        sequence of Column
            The segment, name and number of each residue, the mean, and the population standard deviation.
        """
        values, name, unit = self._residue_values, self._quantity, self._unit
        spread = Column(f"{name}_std", unit, values.std(axis=0))
        return [*self._labels.columns(), Column(name, unit, values.mean(axis=0)), spread]

    def _result_coordinates(self) -> list[LabelledArray]:
        return [*super()._result_coordinates(), *self._labels.coordinates()]

    def draw(self, title: str, ax: Axes | None) -> Figure:
        """Draw the value of each frame over time."""
        from mdreel.results.figure import time_series

        values = self.results[self._quantity]
        return time_series(self.times, values, self._axis_label, title, ax, frames=self.frames, from_zero=False)

    @checked_arguments
    def plot_residues(self, ax: Axes | None = None, title: str | None = None) -> Figure:
        """Plot the mean of each residue over all frames along the sequence.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw into. By default, a new figure is created.
        title : str, optional
            Title of the figure.

        Returns
        -------
        matplotlib.figure.Figure
            The figure. See `plot`.
        """
        from mdreel.results.curves import profile

        values, labels = self._residue_values.mean(axis=0), self._labels
        title = self._describe() if title is None else title
        return profile(labels.positions, values, labels.axis, self._axis_label, title, ax)
