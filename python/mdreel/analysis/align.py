"""Trajectories with each frame superposed on a reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mdreel._core import Transformation
from mdreel.analysis.base.mdanalysis_interface import MDAnalysisInterface
from mdreel.analysis.base.report_output import ReportOutput
from mdreel.analysis.in_memory import prepare, replace_positions
from mdreel.analysis.mdanalysis_writer import write_frames
from mdreel.analysis.rmsd import RMSD
from mdreel.analysis.topology.fitted_groups import Weights, matching_atoms
from mdreel.analysis.topology.matching import MASS_TOLERANCE, Matching
from mdreel.analysis.topology.reference import are_atoms
from mdreel.analysis.topology.structure_file import check_structure
from mdreel.analysis.transformations import transformed
from mdreel.errors import MismatchError, UnsupportedError
from mdreel.execution.blocks import Frames
from mdreel.execution.damage import DamagedFrame
from mdreel.execution.executors.executor import Executor
from mdreel.foundation.arguments import checked_arguments, checked_arguments_but
from mdreel.results.results import Results
from mdreel.timing.timing import Timing
from mdreel.trajectory.convert import convert
from mdreel.trajectory.input_files import files_of
from mdreel.trajectory.open import Stored
from mdreel.trajectory.output_file import check_trajectory, is_supported
from mdreel.trajectory.selection import Atoms, SelectBoth, selections_of
from mdreel.trajectory.write_report import Written

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from MDAnalysis import AtomGroup


class AlignTraj(ReportOutput, MDAnalysisInterface):
    """Alignment, which superposes each frame on a reference and writes the moved frames to a trajectory.

    Parameters
    ----------
    mobile : MDAnalysis.Universe or AtomGroup
        The system. All atoms of its Universe are moved and written.
    reference : MDAnalysis.Universe, AtomGroup or array_like, shape (n_selected, 3), float64, or None
        Structure to superpose on, to which the same selection is applied; or positions of the selected atoms, Å. With
        None, the mobile atoms themselves.
    select : str, tuple, dict or None
        The atoms that are superposed; all other atoms move with them. Give different selections for `mobile` and
        `reference` as ``(mobile, reference)`` or ``{"mobile": ..., "reference": ...}``. See `mdreel.RMSD`.
    filename : path, optional
        The output file, whose extension selects the format. MDAnalysis writes formats that mdreel does not write, such
        as PDB, more slowly. By default, `prefix` and the name of the mobile trajectory, in the current directory.
    prefix : str
        Start of the default name of the output file.
    weights : {None, "mass"} or array_like, shape (n_selected,), float64
        Weight of each selected atom; masses are taken from the reference.
    tol_mass : float
        Largest difference between the masses of two corresponding atoms, amu.
    match_atoms : bool
        Whether the atoms of a reference must correspond to the atoms compared with them: same masses, and names and
        residues in the same order. With False, the atoms are compared in the given order without this check.
    strict : bool
        Whether different numbers of atoms are an error. Otherwise, residues whose numbers of atoms differ are left out
        of the superposition, with a warning.
    force : bool
        Whether an existing file may be replaced. The old file stays until the new one is complete.
    in_memory : bool
        Whether to change the positions in memory instead of writing a file. A trajectory in memory then replaces that
        of the Universe permanently, and `filename` and `prefix` are ignored. If the trajectory is in memory already,
        `run` always changes it.
    writer_kwargs : dict, optional
        ``{"precision": n}`` sets the number of decimal places of an XTC file, in nm. For formats that only MDAnalysis
        writes, the options of its writer.
    ref_frame : int, optional
        Frame of the reference's trajectory, 0-based. By default, the current positions of the reference when `run`
        starts, or frame 0 of the mobile trajectory if no reference is given.
    trajectory : path, sequence of paths, or Source, optional
        The trajectory, if it is not the one of the Universe.
    verbose : bool
        Whether `run` shows progress by default.

    Attributes
    ----------
    results.rmsd : ndarray, shape (n_frames,), float64
        RMSD of the selected atoms from the reference after superposition, Å.
    filename : str or None
        The output file; None if positions are changed in memory.
    mobile : MDAnalysis.AtomGroup
        All atoms of the system.
    mobile_atoms, ref_atoms : MDAnalysis.AtomGroup
        The superposed atoms and the reference atoms; None for positions given as an array.
    written : Written or None
        Report on the written file, with the timing of the writing; None if MDAnalysis wrote it.

    Raises
    ------
    SelectionError
        If there are no atoms, or the topology lacks the masses for mass weights.
    MismatchError
        If reference or weights do not fit the atoms, which are compared in the order of the selections. If atoms do not
        correspond to those of the reference. If the output file is the mobile trajectory.
    UnsupportedError
        If no format has the file extension, or `writer_kwargs` has other options. In `run`, if the format stores only
        one frame.
    OSError
        If the file exists and `force` is false.

    Warns
    -----
    AtomOrderWarning
        If residues are left out, or atoms may not correspond to the atoms of the reference.
    MdreelWarning
        If a file is requested, but the trajectory of the Universe is in memory.

    Notes
    -----
    Results agree with `MDAnalysis.analysis.align.AlignTraj` up to the rounding of XTC. In a file, velocities and forces
    rotate with the atoms; in memory, only positions change. Cells stay unchanged. Frames are superposed and encoded in
    parallel, and written in order. The trajectory is read twice: the selected atoms for the RMSD, then all atoms for
    the output. Memory does not grow with the number of frames, except for 24 bytes of results for each frame, and for
    two copies of a trajectory in memory.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import CRD, DCD, PSF
    >>> u, reference = mda.Universe(PSF, DCD), mda.Universe(PSF, CRD)
    >>> aligned = mdreel.AlignTraj(u, reference, select="name CA", filename="aligned.xtc").run()
    >>> aligned.results.rmsd.shape
    (98,)
    >>> mdreel.open("aligned.xtc").n_frames
    98
    """

    _moved_to_results: ClassVar[Mapping[str, str]] = {"rmsd": "rmsd"}

    _units = MappingProxyType({"rmsd": "Å"})
    _result_dimensions = MappingProxyType({"rmsd": ("frame",)})

    @checked_arguments_but("select")
    def __init__(
        self,
        mobile: Atoms,
        reference: Atoms | ArrayLike | None,
        select: SelectBoth = "all",
        filename: str | PathLike[str] | None = None,
        prefix: str = "rmsfit_",
        weights: Weights = None,
        tol_mass: float = MASS_TOLERANCE,
        match_atoms: bool = True,
        strict: bool = False,
        force: bool = True,
        in_memory: bool = False,
        writer_kwargs: Mapping[str, Any] | None = None,
        *,
        ref_frame: int | None = None,
        trajectory: Stored | None = None,
        verbose: bool = False,
    ) -> None:
        structure = reference if are_atoms(reference) else None
        atoms, theirs, weights = matching_atoms(
            mobile, structure, select, weights, match_atoms=match_atoms, strict=strict
        )
        if structure is None:
            self._rmsd = RMSD(
                mobile,
                reference,
                select,
                weights=weights,
                tol_mass=tol_mass,
                ref_frame=ref_frame or 0,
                match_atoms=match_atoms,
                trajectory=trajectory,
            )
        else:
            of_own = theirs if theirs is not None else atoms
            refuses_order = selections_of(select) != (None, None)
            Matching(tol_mass, match_atoms, refuses_order).check(atoms, of_own)
            self._rmsd = RMSD(
                atoms,
                of_own,
                select=None,
                weights=weights,
                ref_frame=ref_frame,
                match_atoms=False,
                trajectory=trajectory,
            )
        self.mobile: AtomGroup = atoms.universe.atoms
        self.mobile_atoms, self.ref_atoms = self._rmsd.mobile_atoms, self._rmsd.ref_atoms
        self._force = force
        self._options = dict(writer_kwargs or {})
        self._precision: float | None = None
        self._is_foreign = False
        self.filename: str | None = None
        self._in_memory = prepare(atoms.universe, in_memory, trajectory is not None, filename)
        if not self._in_memory:
            read = atoms.universe.trajectory if trajectory is None else trajectory
            self.filename = prefix + _name_of(read) if filename is None else fspath(filename)
            _check_other(self.filename, files_of(read))
            self._is_foreign = not is_supported(self.filename)
            if self._is_foreign:
                check_structure(Path(self.filename), force)
            else:
                self._precision = _precision(self._options)
                check_trajectory(self.filename, self._precision, force)
        self.is_verbose = verbose
        self.results = Results()
        self.written: Written | None = None

    @property
    def frames(self) -> NDArray[np.int64]:
        """Frames superposed, shape (n_frames,), int64, from 0."""
        return self._rmsd.frames

    @property
    def times(self) -> NDArray[np.float64]:
        """Times of the superposed frames, shape (n_frames,), float64, ps."""
        return self._rmsd.times

    @property
    def n_frames(self) -> int:
        """Number of frames superposed."""
        return self._rmsd.n_frames

    @property
    def timing(self) -> Timing:
        """Timing of the computation of the RMSD; `written` has the timing of the writing."""
        return self._rmsd.timing

    @property
    def damage(self) -> tuple[DamagedFrame, ...]:
        """Damaged frames that the last run left out; see `on_error` of `run`."""
        return self._rmsd.damage

    @property
    def _damage_handling(self) -> str:
        """How the last run handled damaged frames; see `on_error` of `run`."""
        return self._rmsd._damage_handling  # noqa: SLF001 (a part of this analysis)

    @property
    def _is_finished(self) -> bool:
        """Whether a run has finished."""
        return "rmsd" in self.results

    def draw(self, title: str, ax: Axes | None) -> Figure:
        """Draw the RMSD of each frame after superposition."""
        return self._rmsd.draw(title, ax)

    def _describe(self) -> str:
        return self._rmsd._describe()  # noqa: SLF001 (a part of this analysis)

    def _input_facts(self) -> dict[str, Any]:
        return self._rmsd._input_facts()  # noqa: SLF001 (a part of this analysis)

    @checked_arguments
    def run(
        self,
        start: int | None = None,
        stop: int | None = None,
        step: int | None = None,
        frames: Frames | None = None,
        verbose: bool | None = None,
        n_workers: int | None = None,
        n_parts: int | None = None,
        backend: str | Executor | None = None,
        *,
        unsupported_backend: bool = False,
        progressbar_kwargs: Mapping[str, Any] | None = None,
        on_error: str = "raise",
        transformations: Sequence[Transformation] = (),
    ) -> Self:
        """Superpose the frames, and write them or change them in memory.

        Parameters
        ----------
        start, stop, step, frames, verbose, n_workers, n_parts, unsupported_backend, progressbar_kwargs, on_error, \
transformations
            See `Analysis.run`.
        backend : str or Executor
            Executor that computes the RMSD. Threads write the frames.

        Returns
        -------
        AlignTraj
            This alignment, with its results.

        Raises
        ------
        MdreelError, OSError
            See `Analysis.run` and `convert`. No partial file remains.
        """
        is_shown = self.is_verbose if verbose is None else verbose
        rmsd = self._rmsd.run(
            start,
            stop,
            step,
            frames,
            is_shown,
            n_workers,
            n_parts,
            backend,
            progressbar_kwargs=progressbar_kwargs,
            on_error=on_error,
            transformations=transformations,
        )
        source = transformed(rmsd.open(), transformations)
        source = source.with_transformations([rmsd.fitting(source)])
        if self.filename is None:
            replace_positions(self.mobile.universe, source, rmsd.frames)
        elif self._is_foreign:
            path = Path(self.filename)
            write_frames(self.mobile.universe, source, rmsd.frames, path, self._options, self._force)
        else:
            self.written = convert(
                source,
                self.filename,
                frames=rmsd.frames,
                precision=self._precision,
                n_workers=n_workers,
                progress=bool(is_shown) and not (progressbar_kwargs or {}).get("disable"),
                force=self._force,
                on_error=on_error,
            )
        self.results.rmsd = np.ascontiguousarray(rmsd.results.rmsd[:, 2])
        return self


def _precision(options: Mapping[str, Any]) -> float | None:
    """Return the precision of XTC in integers per nm, from the options of an MDAnalysis writer."""
    unknown = sorted(set(options) - {"precision"})
    if unknown:
        raise UnsupportedError(f"writer_kwargs {', '.join(unknown)} are not supported: only 'precision' is")
    return None if options.get("precision") is None else 10.0 ** options["precision"]


def _name_of(trajectory: Any) -> str:
    files = files_of(trajectory)
    if not files:
        raise MismatchError("the trajectory has no file name to derive the name of the output from: give a filename")
    return Path(files[0]).name


def _check_other(output: str, inputs: Sequence[str]) -> None:
    for path in inputs:
        if Path(output).resolve() == Path(path).resolve():
            raise MismatchError("the output file is the input trajectory: give another filename", path=output)
