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
"""File extension that selects a table elsewhere, but a structure in Amber's NetCDF format here."""


class AverageStructure(Analysis):
    """Compute the average structure after superposing all frames on a reference.

    Parameters
    ----------
    mobile : MDAnalysis.Universe or AtomGroup
        The system.
    reference : MDAnalysis.Universe or AtomGroup, optional
        Structure to superpose on. The default is the system itself.
    select : str, tuple, dict or None
        Atoms to superpose and average, in MDAnalysis's selection language. To select different atoms in `mobile` and
        `reference`, pass ``(mobile, reference)`` or ``{"mobile": ..., "reference": ...}``. See `mdreel.RMSD`.
    filename : path, optional
        File to which `run` writes the average structure, in any format that MDAnalysis can write. The file will only
        appear once it is complete.
    weights : {None, "mass"} or array_like, shape (n_atoms,), float64
        Weights of the atoms in the superposition. Use "mass" for the masses of the reference atoms.
    tol_mass : float
        Largest difference in amu that is allowed between the masses of corresponding atoms.
    match_atoms : bool
        Whether to check that the atoms of the reference correspond to the selected atoms. This means that they have the
        same masses, and the same names and residues in the same order. If False, atoms will be compared in the given
        order without this check.
    strict : bool
        Accepted for compatibility with MDAnalysis, but not used. An error will always be raised if the numbers of atoms
        differ.
    force : bool
        Whether to replace an existing file, which is kept until the new one is complete.
    in_memory : bool
        Whether `run` should also superpose the positions of `mobile` in memory. An in-memory trajectory will then
        permanently replace the Universe's trajectory, and `filename` is ignored. A trajectory that is already in memory
        is always superposed.
    ref_frame : int
        Frame number in the reference trajectory, starting from 0.
    trajectory : path, sequence of paths, or Source, optional
        Trajectory to analyse instead of the Universe's trajectory. In this case, the Universe needs only a topology.
    verbose : bool
        Whether `run` shows a progress bar by default.

    Attributes
    ----------
    results.positions : ndarray, shape (n_atoms, 3), float64
        Mean position of each atom in Å.
    results.universe : MDAnalysis.Universe
        A Universe that contains the selected atoms at their mean positions (float32).
    results.rmsd : float
        RMSD after superposition in Å, averaged over all frames.
    results.rmsf : ndarray, shape (n_atoms,), float64
        Root mean square fluctuations of the atoms about their mean positions, in Å.
    filename : str or None
        Name of the output file, or None if no file is written, for example because positions are changed in memory.
    mobile, reference : MDAnalysis.AtomGroup, Universe
        All atoms of the system, and the given reference.
    mobile_atoms, ref_atoms : MDAnalysis.AtomGroup
        The superposed atoms and the reference atoms.

    Raises
    ------
    SelectionError
        If your selection is empty or not valid.
    MismatchError
        If the selections have different numbers of atoms, your weights do not match them, or the atoms do not
        correspond to the reference atoms.
    UnsupportedError
        If MDAnalysis does not support the file extension.
    OSError
        In `run`, if the file cannot be written, or already exists and `force` is false.

    Warns
    -----
    AtomOrderWarning
        When atoms may not correspond to the reference atoms.
    MdreelWarning
        When you request a file, but the Universe's trajectory is in memory.

    Notes
    -----
    The mean position of an atom is ``x_i = mean_t (R(t) x_i(t) + t(t))``, with the same rotations R and translations t
    as in `mdreel.RMSD` (QCP). Superposed positions are float64. Their displacements from the reference are summed
    exactly, in steps of 2^-36 Å, so you will get bitwise identical results from every executor. As in MDAnalysis, atoms
    and reference atoms are paired in the order in which they were selected. The memory use does not depend on the
    number of frames, apart from 24 bytes per frame for the frame number, the time and the RMSD.

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
        """Reference groups from other Universes, each with its frame number, or None to use the current positions."""
        return references_of([self._fitted], self.atomgroup)

    @property
    def boundaries(self) -> Boundaries:
        """Requirements for molecules that cross the periodic boundary."""
        return Boundaries("atoms are superposed on the reference without periodic images", whole=True)

    def computation(self, source: Source) -> Computation:
        """Return the computation that superposes each frame and adds up the displacements."""
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
        """Whether a run writes an output file in addition to the results."""
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
        """Write the average structure or the table of `columns`.

        Parameters
        ----------
        path : path
            The output file, which will only appear once it is complete. If you use one of the extensions
            ``.csv .xvg .npz .parquet .json .xlsx``, the table is written. All other extensions, including ``.nc``,
            select a structure format.
        force : bool
            Whether to replace an existing file.
        metadata : mapping of str to str, int, float or bool, optional
            Additional entries for the table description. See `Analysis.save`. Structures have no description.

        Returns
        -------
        Path
            The file.

        Raises
        ------
        AttributeError
            When the analysis has not been run yet.
        UnsupportedError
            When the file extension is supported by neither mdreel nor MDAnalysis, or a required package is missing.
        OSError
            When the file cannot be written, or already exists and `force` is false.

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
        """Write the average structure in a format that MDAnalysis can write. For errors, see `save`.

        Parameters
        ----------
        path : path
            The output file. Its extension selects the format.
        force : bool
            Whether to replace an existing file.

        Returns
        -------
        Path
            The file.
        """
        self._done()
        return write_structure(self.results.universe.atoms, path, force)

    def columns(self) -> Sequence[Column]:
        """Return columns with the identity, the mean position and the fluctuation of each atom."""
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
