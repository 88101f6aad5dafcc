"""Superposition of trajectories on a reference, frame by frame."""

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
    """Superpose a trajectory on a reference and write the superposed frames to a new trajectory.

    Parameters
    ----------
    mobile : MDAnalysis.Universe or AtomGroup
        The system to superpose. All atoms of its Universe will be moved and written.
    reference : MDAnalysis.Universe, AtomGroup or array_like, shape (n_selected, 3), float64, or None
        Structure to superpose on, to which the same selection is applied. You can also pass an array with the positions
        of the selected atoms in Å. If None, a frame of `mobile` itself is used.
    select : str, tuple, dict or None
        Atoms to superpose, in MDAnalysis's selection language. All other atoms will move with them. To select different
        atoms in `mobile` and `reference`, pass ``(mobile, reference)`` or ``{"mobile": ..., "reference": ...}``. See
        `mdreel.RMSD`.
    filename : path, optional
        The output file, in the format given by its extension. If this format is not supported by mdreel, for example
        for PDB, the file will be written by MDAnalysis, which is slower. By default, the file is written to the current
        directory, and its name consists of `prefix` and the name of your trajectory.
    prefix : str
        Prefix for the default file name.
    weights : {None, "mass"} or array_like, shape (n_selected,), float64
        Weights of the selected atoms. Use "mass" for the masses of the reference atoms.
    tol_mass : float
        Largest difference in amu that is allowed between the masses of corresponding atoms.
    match_atoms : bool
        Whether to check that the atoms of the reference correspond to the selected atoms. This means that they have the
        same masses, and the same names and residues in the same order. If False, atoms will be compared in the given
        order without this check.
    strict : bool
        Whether to raise an error if the numbers of atoms differ. Otherwise, residues in which they differ are excluded
        from the superposition, and you will see a warning.
    force : bool
        Whether to replace an existing file, which is kept until the new one is complete.
    in_memory : bool
        Whether to change the positions in memory instead of writing a file. An in-memory trajectory will then
        permanently replace the Universe's trajectory, and `filename` and `prefix` are ignored. A trajectory that is
        already in memory is always changed by `run`.
    writer_kwargs : dict, optional
        Options for the writer. For XTC files, ``{"precision": n}`` sets the number of decimal places of coordinates in
        nm. For formats that only MDAnalysis can write, the options are passed to MDAnalysis's writer.
    ref_frame : int, optional
        Frame number in the reference trajectory, starting from 0. By default, the positions that the reference has when
        `run` starts are used, or frame 0 of the mobile trajectory if there is no reference.
    trajectory : path, sequence of paths, or Source, optional
        Trajectory to analyse instead of the Universe's trajectory.
    verbose : bool
        Whether `run` shows a progress bar by default.

    Attributes
    ----------
    results.rmsd : ndarray, shape (n_frames,), float64
        RMSD of the selected atoms from the reference after superposition, in Å.
    filename : str or None
        Name of the output file, or None if positions are changed in memory.
    mobile : MDAnalysis.AtomGroup
        All atoms of the system.
    mobile_atoms, ref_atoms : MDAnalysis.AtomGroup
        The superposed atoms and the reference atoms. `ref_atoms` is None if the reference is an array of positions.
    written : Written or None
        Report on the file, including the time needed to write it. None if MDAnalysis wrote the file.

    Raises
    ------
    SelectionError
        If your selection is empty, or your topology does not contain the masses that should be used as weights.
    MismatchError
        If the reference or your weights do not match the atoms, or the selected atoms do not correspond to the
        reference atoms in the same order. This error is also raised if you try to overwrite the mobile trajectory
        itself.
    UnsupportedError
        If the file extension or an option in `writer_kwargs` is unknown. In `run`, if the format can only be used for a
        single frame.
    OSError
        If the file exists and `force` is false.

    Warns
    -----
    AtomOrderWarning
        When residues are excluded, or your atoms may not correspond to the reference atoms.
    MdreelWarning
        When you request a file, but the Universe's trajectory is in memory.

    Notes
    -----
    Results agree with those of `MDAnalysis.analysis.align.AlignTraj` to within the precision of XTC. When a file is
    written, velocities and forces are rotated together with the positions. In memory, only positions will change. Cells
    are not rotated. Frames can be superposed and encoded in parallel, but are always written in order. The trajectory
    is read twice: first only the selected atoms to compute the RMSD, then all atoms to write the output. Apart from 24
    bytes per frame for the results, memory use does not depend on the number of frames. However, if the trajectory is
    in memory, two copies of it are needed.

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
        """Numbers of the superposed frames, starting from 0, as an int64 array of shape (n_frames,)."""
        return self._rmsd.frames

    @property
    def times(self) -> NDArray[np.float64]:
        """Times of the superposed frames in ps, as a float64 array of shape (n_frames,)."""
        return self._rmsd.times

    @property
    def n_frames(self) -> int:
        """Number of superposed frames."""
        return self._rmsd.n_frames

    @property
    def timing(self) -> Timing:
        """Timing of the RMSD computation. For the time needed to write the output, see `written`."""
        return self._rmsd.timing

    @property
    def damage(self) -> tuple[DamagedFrame, ...]:
        """Damaged frames that the last run skipped. See `on_error` of `run`."""
        return self._rmsd.damage

    @property
    def _damage_handling(self) -> str:
        """How the last run handled damaged frames. See `on_error` of `run`."""
        return self._rmsd._damage_handling  # noqa: SLF001 (a part of this analysis)

    @property
    def _is_finished(self) -> bool:
        """Whether the analysis has been run."""
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
        """Superpose the frames, and write them to a file or change the positions in memory.

        Parameters
        ----------
        start, stop, step, frames, verbose, n_workers, n_parts, unsupported_backend, progressbar_kwargs, on_error, \
transformations
            See `Analysis.run`.
        backend : str or Executor
            Executor that computes the RMSD. The frames are always written by threads.

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
    """Return the XTC precision from the options for an MDAnalysis writer, in integer steps per nm."""
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
