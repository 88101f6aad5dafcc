"""Output of results as files, data frames, datasets, figures and notebook summaries."""

from __future__ import annotations

import base64
import warnings
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mdreel.analysis.base.frame_columns import frame_columns, is_of_frames
from mdreel.analysis.base.result_arrays import result_arrays
from mdreel.errors import MdreelWarning, UnsupportedError
from mdreel.execution.damage import DamagedFrame, damage_metadata
from mdreel.foundation.arguments import checked_arguments
from mdreel.foundation.stack_level import caller_level
from mdreel.results.column import Column
from mdreel.results.labelled_array import LabelledArray
from mdreel.results.results import Results
from mdreel.timing.timing import Timing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from xarray import Dataset

Fact: TypeAlias = str | bool | int | float | None
"""A value in the description of results. Every format can store such values."""

_MOST_FACTS = 6
"""Maximum number of results in the notebook summary."""


class ResultOutput:
    """Methods that write, convert, draw and summarize the results of an analysis."""

    results: Results

    _units: Mapping[str, str] = {}
    """Units of the results that have a unit."""

    _result_heads: Mapping[str, int] = {}
    """Number of leading columns with the frame and the time, for results that have such columns, as in MDAnalysis."""

    _result_dimensions: Mapping[str, tuple[str, ...]] = {}
    """Names of the dimensions of the results that are arrays."""

    @property
    def frames(self) -> NDArray[np.int64]:
        """Numbers of the analysed frames, starting from 0, as an int64 array of shape (n_frames,)."""
        # `Analysis` and `AlignTraj` define this; nobody creates a plain ResultOutput.
        raise NotImplementedError

    @property
    def times(self) -> NDArray[np.float64]:
        """Times of the analysed frames in ps, as a float64 array of shape (n_frames,)."""
        # `Analysis` and `AlignTraj` define this; nobody creates a plain ResultOutput.
        raise NotImplementedError

    @property
    def timing(self) -> Timing:
        """Timing of the last run."""
        # `Analysis` and `AlignTraj` define this; nobody creates a plain ResultOutput.
        raise NotImplementedError

    @property
    def damage(self) -> tuple[DamagedFrame, ...]:
        """Damaged frames that the last run skipped. See `on_error` of `run`."""
        # `Analysis` and `AlignTraj` define this; nobody creates a plain ResultOutput.
        raise NotImplementedError

    @property
    def _damage_handling(self) -> str:
        """How the last run handled damaged frames. See `on_error` of `run`."""
        # `Analysis` and `AlignTraj` define this; nobody creates a plain ResultOutput.
        raise NotImplementedError

    @property
    def _is_finished(self) -> bool:
        """Whether the analysis has been run."""
        # `Analysis` and `AlignTraj` define this; nobody creates a plain ResultOutput.
        raise NotImplementedError

    def columns(self) -> Sequence[Column]:
        """Return the results as a table with the frame, the time, and all results that have one value per frame.

        Returns
        -------
        sequence of Column
            The columns that `save`, `to_dataframe` and the command line write, and that `mdreel watch` shows for an
            analysis on a channel. Subclasses can return other columns. If the first column contains neither frames nor
            times, `mdreel watch` uses it as the x axis of the plot.
        """
        return frame_columns(self.frames, self.times, self.results, self._units)

    def watched_columns(self) -> Sequence[Column]:
        """Return the table that `mdreel watch` shows. By default, it is that of `columns`."""
        return self.columns()

    @checked_arguments
    def save(
        self, path: str | PathLike[str], force: bool = False, *, metadata: Mapping[str, Fact] | None = None
    ) -> Path:
        """Write the table of `columns` to a file, which appears only once it is complete.

        Parameters
        ----------
        path : path
            The file. Its extension selects the format: ``.csv .xvg .npz .parquet .json .nc .xlsx``.
        force : bool
            Whether to replace an existing file. The old file is kept until the new one is complete.
        metadata : mapping of str to str, int, float, bool or None, optional
            Entries to add to or replace in the description, which is part of all formats except CSV. By default, the
            description consists of the title, the topology, the trajectory and the number of atoms. It also lists the
            damaged frames that the run skipped.

        Returns
        -------
        Path
            The file.

        Raises
        ------
        AttributeError
            If the analysis has not been run yet.
        ArgumentError
            If a value in `metadata` is not a string, a number, True, False or None.
        UnsupportedError
            If the extension is unknown, if its format requires a package that is not installed or cannot store the
            table, or if the results do not form a table.
        OSError
            If the file exists and `force` is false, or if the file cannot be written because its folder is missing or
            not writable, or because the disk is full. No partial file remains.

        Warns
        -----
        MdreelWarning
            If the table does not include all results of a user analysis because some of them do not have one value per
            frame.

        Examples
        --------
        >>> import MDAnalysis as mda
        >>> import mdreel
        >>> from MDAnalysisTests.datafiles import DCD, PSF
        >>> rmsd = mdreel.RMSD(mda.Universe(PSF, DCD), select="name CA").run(step=40)
        >>> rmsd.save("rmsd.csv").read_text().splitlines()[0]
        'frame,time_ps,rmsd_angstrom'
        """
        from mdreel.results.files import check_output, write

        path = Path(path)
        described = self._metadata_with(metadata)
        check_output(path, force)
        write(path, self._checked_columns(), described, force)
        return path

    @checked_arguments
    def to_dataframe(self, library: str = "pandas") -> Any:
        """Return the table of `columns` as a data frame.

        Parameters
        ----------
        library : {"pandas", "polars"}
            Library of the data frame. It must be installed.

        Returns
        -------
        pandas.DataFrame or polars.DataFrame
            A copy of the table. In pandas, ``frame.attrs["units"]`` contains the units, and ``frame.attrs["metadata"]``
            contains the same description as in `save`.

        Raises
        ------
        AttributeError
            If the analysis has not been run yet.
        MismatchError
            If `library` is unknown.
        UnsupportedError
            If the library is not installed, or if the results do not form a table.

        Warns
        -----
        MdreelWarning
            See `save`.

        Examples
        --------
        >>> import MDAnalysis as mda
        >>> import mdreel
        >>> from MDAnalysisTests.datafiles import DCD, PSF
        >>> rmsd = mdreel.RMSD(mda.Universe(PSF, DCD), select="name CA").run()
        >>> list(rmsd.to_dataframe().columns)
        ['frame', 'time', 'rmsd']
        """
        from mdreel.results.data_frame import data_frame

        described = self._metadata_with(None)
        return data_frame(self._checked_columns, described, library)

    @checked_arguments
    def to_xarray(self) -> Dataset:
        """Return the results as an xarray Dataset. The package xarray must be installed.

        Returns
        -------
        xarray.Dataset
            A dataset with one variable for each result that is an array or a number. Variables have named dimensions
            such as ``frame``, ``atom`` and ``residue``. Their units are in ``.attrs["units"]``. The values are the
            arrays in `results`, not copies. If a result starts with frame and time columns, as in MDAnalysis, these
            columns become the coordinates ``frame`` and ``time``. The attributes contain the same description as in
            `save`.

        Raises
        ------
        AttributeError
            If the analysis has not been run yet.
        UnsupportedError
            If xarray is not installed.

        Examples
        --------
        >>> import MDAnalysis as mda
        >>> import mdreel
        >>> from MDAnalysisTests.datafiles import DCD, PSF
        >>> rmsf = mdreel.RMSF(mda.Universe(PSF, DCD).select_atoms("name CA")).run()
        >>> rmsf.to_xarray().rmsf.dims
        ('atom',)
        """
        from mdreel.results.labelled_array import dataset

        described = self._metadata_with(None)
        return dataset(self._result_arrays(), self._result_coordinates(), described)

    @checked_arguments
    def plot(self, ax: Axes | None = None, title: str | None = None) -> Figure:
        """Plot the results.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw into. By default, a new figure is created.
        title : str, optional
            Title of the figure. The default contains the numbers of atoms and frames.

        Returns
        -------
        matplotlib.figure.Figure
            The figure. A new figure is displayed in notebooks and by ``plt.show()``. If a script does not import
            ``matplotlib.pyplot``, the figure does not belong to a window and is deleted when there are no more
            references to it.

        Examples
        --------
        >>> import MDAnalysis as mda
        >>> import mdreel
        >>> from MDAnalysisTests.datafiles import DCD, PSF
        >>> rmsd = mdreel.RMSD(mda.Universe(PSF, DCD), select="name CA").run()
        >>> rmsd.plot(title="RMSD of AdK").savefig("rmsd.png")
        """
        self._check_results()
        figure = self.draw(self._describe() if title is None else title, ax)
        if ax is None:
            from mdreel.results.shown_figure import adopt_into_pyplot

            adopt_into_pyplot(figure)
        return figure

    def draw(self, title: str, ax: Axes | None) -> Figure:
        """Draw the results with a title. See `plot`."""
        raise UnsupportedError(f"{type(self).__name__} cannot be plotted")

    def _check_results(self) -> None:
        """Check that there are results."""
        if not self._is_finished:
            raise AttributeError("there are no results yet: call run() first")

    def _describe(self) -> str:
        """Return a short description with the size of the analysis."""
        # `Analysis` and `AlignTraj` define this; nobody creates a plain ResultOutput.
        raise NotImplementedError

    def _input_facts(self) -> dict[str, Any]:
        """Return metadata about the input."""
        return {}

    def _metadata_with(self, more: Mapping[str, Any] | None) -> dict[str, Any]:
        """Check that there are results, and return their description."""
        self._check_results()
        given = {name: fact.item() if isinstance(fact, np.generic) else fact for name, fact in (more or {}).items()}
        own = {"title": f"{type(self).__name__} of {self._describe()}", **self._input_facts()}
        kept = {name: value for name, value in own.items() if name not in given}
        return {**kept, **given, **damage_metadata(self.damage, self._damage_handling)}

    def _checked_columns(self) -> Sequence[Column]:
        """Return the columns. If a class does not declare columns, first check that the table contains the results."""
        columns = self.columns()
        is_declared = type(self).columns is not ResultOutput.columns
        left = [f"results.{name}" for name, one in self.results.items() if not is_of_frames(one, len(self.frames))]
        if [column.name for column in columns] == ["frame", "time"]:
            found = f"only {', '.join(left)}" if left else "none at all"
            message = f"{type(self).__name__} has no results with a value per frame, {found}"
            raise UnsupportedError(f"{message}: define columns() in a subclass, or use to_xarray()")
        if left and not is_declared:
            message = f"{', '.join(left)} has no value for each frame and is not in the table: see to_xarray()"
            warnings.warn(message, MdreelWarning, stacklevel=caller_level())
        return columns

    def _result_arrays(self) -> list[LabelledArray]:
        """Return the results as arrays with named dimensions."""
        return result_arrays(len(self.frames), self.results, self._result_dimensions, self._units, self._result_heads)

    def _result_coordinates(self) -> list[LabelledArray]:
        """Return labels for the dimensions. Labels for dimensions that do not occur in any result are ignored."""
        return [
            LabelledArray("frame", ("frame",), "", self.frames),
            LabelledArray("time", ("frame",), "ps", self.times),
            LabelledArray("axis", ("axis",), "", np.array(["x", "y", "z"])),
        ]

    def _repr_html_(self) -> str:
        """Return a notebook summary with numbers, a small picture and the timing, or before a run, how to run."""
        from mdreel.foundation.html.markup import Markup, element, table, together

        head = together(element("b", type(self).__name__), f" of {self._describe()}")
        if not self._is_finished:
            return together(head, ". ", element("code", "run()"), " analyses the trajectory.")
        times = [f"{time:,.6g}" for time in self.times[[0, -1]]] if len(self.times) else []
        parts = [element("div", head, f", {' to '.join(times)} ps" if times else "")]
        if self.damage:
            parts.append(element("div", f"{len(self.damage):,} damaged, left out (see damage)"))
        numbers = self._key_numbers()
        if numbers:
            parts.append(table(("result", "lowest", "mean", "highest"), numbers))
        picture = self._small_picture()
        if picture is not None:
            source = f"data:image/png;base64,{base64.b64encode(picture).decode()}"
            parts.append(Markup(element("img", src=source, alt=f"Plot of {self._describe()}").removesuffix("</img>")))
        parts.append(element("pre", self.timing.summary(), style="font-size:0.85em;opacity:0.75"))
        return element("div", *parts)

    def _key_arrays(self) -> list[LabelledArray]:
        """Return the results whose range is shown in the notebook summary."""
        arrays = self._result_arrays()
        return [one for i, one in enumerate(arrays) if not any(one.values is other.values for other in arrays[:i])]

    def _key_numbers(self) -> list[tuple[str, str, str, str]]:
        """Return the name and the lowest, mean and highest value of the most important numerical results."""
        numbers = [one for one in self._key_arrays() if one.is_number and one.values.size]
        return [_fact(one) for one in numbers[:_MOST_FACTS]]

    def _small_picture(self) -> bytes | None:
        """Return a small picture of the results, or None if they cannot be drawn."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                from mdreel.results.shown_figure import picture_of

                return picture_of(self.draw("", None))
            except Exception:  # noqa: BLE001 (the summary is complete without its picture)
                return None


def _fact(array: LabelledArray) -> tuple[str, str, str, str]:
    """Return the name and the lowest, mean and highest value of a result. NaN affects only the mean."""
    values = array.values
    with np.errstate(all="ignore"):
        numbers = np.fmin.reduce(values, axis=None), values.mean(), np.fmax.reduce(values, axis=None)
    lowest, mean, highest = (f"{number:.4g} {array.unit}".rstrip() for number in numbers)
    return array.name, lowest, mean, highest
