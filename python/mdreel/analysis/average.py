"""Average structures after superposition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from numpy.typing import ArrayLike

from mdreel._core import Computation, Source, superposed
from mdreel.analysis.base.analysis import Analysis
from mdreel.analysis.fluctuations import after_superposition, means_and_fluctuations
from mdreel.analysis.in_memory import prepare, replace_positions
from mdreel.analysis.periodic.boundaries import Boundaries
from mdreel.analysis.topology.fitted_groups import ComparedAtoms, matching_atoms, references_of
from mdreel.analysis.topology.matching import MASS_TOLERANCE, Matching
from mdreel.analysis.topology.residue_labels import atom_columns, atom_coordinates
from mdreel.analysis.topology.structure_file import check_ending, check_structure, write_structure
from mdreel.errors import UnsupportedError
from mdreel.execution.job import Outcome
from mdreel.execution.tally import Tally
from mdreel.foundation.arguments import checked_arguments, checked_arguments_but
from mdreel.results.column import Column
from mdreel.results.labelled_array import LabelledArray
from mdreel.trajectory.opener import Trajectory
from mdreel.trajectory.selection import Atoms, SelectBoth, selections_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from MDAnalysis import AtomGroup


_STRUCTURE = ".nc"
"""Extension of tables that selects a structure, in Amber's NetCDF format."""


class AverageStructure(Analysis):
    """Mean position of each atom after superposition of each frame on a reference.

    Parameters
    ----------
    mobile : MDAnalysis.Universe or AtomGroup
        The system.
    reference : MDAnalysis.Universe or AtomGroup, optional
        Structure to superpose on; by default the system itself.
    select : str, tuple, dict or None
        Atoms that are superposed and averaged, in MDAnalysis's selection language. Give different selections for
        `mobile` and `reference` as ``(mobile, reference)`` or ``{"mobile": ..., "reference": ...}``. See `mdreel.RMSD`.
    filename : path, optional
        Output file of `run` for the mean structure. The file extension selects a format that MDAnalysis can write. The
        file appears only when it is complete.
    weights : {None, "mass"} or array_like, shape (n_atoms,), float64
        Weight of each atom in the superposition; masses are taken from the reference.
    tol_mass : float
        Largest difference between the masses of two corresponding atoms, amu.
    match_atoms : bool
        Whether the atoms of a reference must correspond to the atoms compared with them: same masses, and names and
        residues in the same order. With False, the atoms are compared in the given order without this check.
    strict : bool
        Accepted as in MDAnalysis, without effect: different numbers of atoms are always an error.
    force : bool
        Whether an existing file may be replaced. The old file stays until the new one is complete.
    in_memory : bool
        Whether `run` also superposes the positions of `mobile` in memory. A trajectory in memory then
        replaces the trajectory of the Universe permanently, and `filename` is ignored. If the trajectory is in memory
        already, `run` always superposes it.
    ref_frame : int
        Frame of the reference's trajectory, 0-based.
    trajectory : path, sequence of paths, or Source, optional
        The trajectory, if it is not the one of the Universe. A Universe made from a topology alone is then enough.
    verbose : bool
        Whether `run` shows progress by default.

    Attributes
    ----------
    results.positions : ndarray, shape (n_atoms, 3), float64
        Mean position of each atom, Å.
    results.universe : MDAnalysis.Universe
        A Universe of the selected atoms with these positions (float32).
    results.rmsd : float
        Mean over frames of the RMSD after superposition, Å.
    results.rmsf : ndarray, shape (n_atoms,), float64
        Root mean square fluctuation of each atom about its mean position, Å.
    filename : str or None
        The output file; None if the run writes no file, for example because it changes positions in memory.
    mobile, reference : MDAnalysis.AtomGroup, Universe
        All atoms of the system, and the given reference.
    mobile_atoms, ref_atoms : MDAnalysis.AtomGroup
        The superposed atoms and the reference atoms.

    Raises
    ------
    SelectionError
        If there are no atoms, or a selection is not valid.
    MismatchError
        If the selections have different numbers of atoms, or weights do not fit them, or atoms do not
        correspond to those of the reference.
    UnsupportedError
        If MDAnalysis cannot write a format with the file extension.
    OSError
        In `run`, if the file exists and `force` is false, or it cannot be written.

    Warns
    -----
    AtomOrderWarning
        If atoms may not correspond to the atoms of the reference.
    MdreelWarning
        If a file is requested, but the trajectory of the Universe is in memory.

    Notes
    -----
    The mean position is ``x_i = mean_t (R(t) x_i(t) + t(t))``, with the rotation and translation of each frame that
    `mdreel.RMSD` finds (QCP). Moved positions are float64. Sums of their displacements from the reference are exact, in
    steps of 2^-36 Å, so the results are bitwise identical for every executor. Atoms are compared in the order of the
    selections, as in MDAnalysis. Memory does not grow with the number of frames, except for 24 bytes for number, time
    and RMSD of each frame.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import DCD, PSF
    >>> average = mdreel.AverageStructure(mda.Universe(PSF, DCD), select="protein and name CA").run()
    >>> average.results.positions.shape
    (214, 3)
    >>> average.results.universe.atoms.n_atoms
    214
    """

    _moved_to_results: ClassVar[Mapping[str, str]] = {"universe": "universe", "positions": "positions", "rmsd": "rmsd"}

    _units = MappingProxyType({"positions": "Å", "rmsf": "Å", "rmsd": "Å"})
    _result_dimensions = MappingProxyType({"positions": ("atom", "axis"), "rmsf": ("atom",), "rmsd": ()})

    @checked_arguments_but("select")
    def __init__(
        self,
        mobile: Atoms,
        reference: Atoms | None = None,
        select: SelectBoth = "all",
        filename: str | PathLike[str] | None = None,
        weights: Literal["mass"] | ArrayLike | None = None,
        tol_mass: float = MASS_TOLERANCE,
        match_atoms: bool = True,
        strict: bool = False,
        force: bool = True,
        in_memory: bool = False,
        ref_frame: int = 0,
        *,
        trajectory: Trajectory | None = None,
        verbose: bool = False,
    ) -> None:
        del strict
        atoms, theirs, weights = matching_atoms(
            mobile, reference, select, weights, match_atoms=match_atoms, strict=True
        )
        super().__init__(atoms, trajectory, verbose=verbose)
        matching = Matching(tol_mass, match_atoms, refuses_order=selections_of(select) != (None, None))
        self._fitted = ComparedAtoms.of(atoms, theirs, ref_frame, weights, matching, is_own=reference is None)
        self.mobile, self.reference = atoms.universe.atoms, mobile if reference is None else reference
        self.mobile_atoms, self.ref_atoms = atoms, atoms if theirs is None else theirs
        self.ref_frame = ref_frame
        self._force = force
        self._in_memory = prepare(atoms.universe, in_memory, trajectory is not None, filename)
        self._superposed: Source | None = None
        self.filename = None if filename is None or self._in_memory else fspath(filename)
        if self.filename is not None:
            check_ending(Path(self.filename))

    @property
    def references(self) -> Sequence[tuple[AtomGroup, int | None]]:
        """Groups of other Universes that give the reference, with their frames; None for current positions."""
        return references_of([self._fitted], self.atomgroup)

    @property
    def boundaries(self) -> Boundaries:
        """Requirements of the analysis on molecules that the cell boundary may cut."""
        return Boundaries("atoms are superposed on the reference without periodic images", whole=True)

    def computation(self, source: Source) -> Computation:
        """Return the computation that superposes each frame and sums displacements."""
        universe = self.atomgroup.universe if self._given_trajectory is None else None
        if self._in_memory:
            fitted = self._fitted
            fit = superposed(fitted.selection.atoms, fitted.structure.read(source, universe), fitted.weights)
            self._superposed = source.with_transformations([fit])
        return after_superposition(source, self._fitted, self.atoms, self.atoms, universe)

    def conclude(self, tally: Tally) -> None:
        """Compute the mean structure from the sums."""
        import MDAnalysis

        positions, fluctuations = means_and_fluctuations(tally)
        places = self._selection.places
        self.results.positions, self.results.rmsf = positions[places], fluctuations[places]
        self.results.rmsd = float(tally.values[:, 0].mean())
        self._rmsd = tally.values[:, 0].copy()
        universe = MDAnalysis.Merge(self.atomgroup)
        universe.load_new(self.results.positions.reshape(1, -1, 3))
        self.results.universe = universe

    def accept(self, outcome: Outcome, tally: Tally) -> None:
        """Store the outcome of a run, fill in the results, and superpose positions in memory if requested."""
        super().accept(outcome, tally)
        if not self._in_memory:
            return
        if self._superposed is None:
            raise UnsupportedError("positions in memory cannot be changed in other processes: use another backend")
        replace_positions(self.atomgroup.universe, self._superposed, self.frames)
        self._superposed = None

    @property
    def writes_file(self) -> bool:
        """Whether a run writes a file besides the results."""
        return self.filename is not None

    def check_output_file(self) -> None:
        """Check that the requested file can be written."""
        if self.filename is not None:
            check_structure(Path(self.filename), self._force)

    def write_output(self) -> None:
        """Write the requested file."""
        if self.filename is not None:
            self.save_structure(self.filename, self._force)

    @checked_arguments
    def save(
        self, path: str | PathLike[str], force: bool = False, *, metadata: Mapping[str, Any] | None = None
    ) -> Path:
        """Write the mean structure, or the table of `columns`.

        Parameters
        ----------
        path : path
            The output file. It appears only when it is complete. With an extension of tables (``.csv .xvg .npz
            .parquet .json .xlsx``), it is the table. Other extensions, also ``.nc``, select a format of structures.
        force : bool
            Whether an existing file may be replaced.
        metadata : mapping of str to str, int, float or bool, optional
            Further entries of the description of a table; see `Analysis.save`. Structures have none.

        Returns
        -------
        Path
            The file.

        Raises
        ------
        AttributeError
            If there are no results yet.
        UnsupportedError
            If neither mdreel nor MDAnalysis can write a format with this file extension, or a package is missing.
        OSError
            If the file exists and `force` is false, or it cannot be written.

        Examples
        --------
        >>> import MDAnalysis as mda
        >>> import mdreel
        >>> from MDAnalysisTests.datafiles import DCD, PSF
        >>> average = mdreel.AverageStructure(mda.Universe(PSF, DCD), select="name CA").run()
        >>> average.save("average.pdb").name
        'average.pdb'
        """
        from mdreel.results.files import WRITERS

        if Path(path).suffix.lower() in WRITERS.keys() - {_STRUCTURE}:
            return super().save(path, force, metadata=metadata)
        return self.save_structure(path, force)

    @checked_arguments
    def save_structure(self, path: str | PathLike[str], force: bool = False) -> Path:
        """Write the mean structure in a format that MDAnalysis can write; see `save` for the errors.

        Parameters
        ----------
        path : path
            The output file, whose extension selects the format.
        force : bool
            Whether an existing file may be replaced.

        Returns
        -------
        Path
            The file.
        """
        self._done()
        return write_structure(self.results.universe.atoms, path, force)

    def columns(self) -> Sequence[Column]:
        """Return columns that identify each atom, its mean position and its fluctuation."""
        positions = zip("xyz", self.results.positions.T, strict=True)
        return [
            *atom_columns(self.atomgroup),
            *(Column(axis, "Å", values) for axis, values in positions),
            Column("rmsf", "Å", self.results.rmsf),
        ]

    def _result_coordinates(self) -> list[LabelledArray]:
        return [*super()._result_coordinates(), *atom_coordinates(self.atomgroup)]

    def draw(self, title: str, ax: Axes | None) -> Figure:
        """Draw the RMSD of each frame from the reference after superposition."""
        from mdreel.results.figure import time_series

        return time_series(self.times, self._rmsd, "RMSD from reference (Å)", title, ax, frames=self.frames)
