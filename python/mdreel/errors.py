"""Exceptions and warnings of mdreel.

Every message states where the problem is (the file, frame or argument), which value was expected and which value was
found. The Rust core raises these exceptions too. Errors from the operating system are passed on unchanged. For example,
a missing file raises ``FileNotFoundError``. All exceptions have the parameters and attributes of `MdreelError`.
"""

import os


def __dir__() -> list[str]:
    return [name for name, value in globals().items() if isinstance(value, type)]


class MdreelError(Exception):
    """Base class of all mdreel exceptions.

    Parameters
    ----------
    message : str
        Error message, which states the expected value, the value found, and how to fix the problem.
    path : str or os.PathLike, optional
        The file, channel or directory that caused the problem. Its name is put in front of the message.
    frame : int, optional
        Index of the frame that caused the problem, counted from 0.

    Attributes
    ----------
    path : str or None
        The file, channel or directory that caused the problem, if there is one.
    frame : int or None
        Index of the frame that caused the problem, counted from 0, if it is known.
    byte : int or None
        Position of the first damaged byte from the start of the file, if it is known.

    Examples
    --------
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import DCD
    >>> try:
    ...     mdreel.read(DCD, frames=[98])
    ... except mdreel.errors.MdreelError as error:
    ...     print(type(error).__name__)
    FrameIndexError
    """

    path: str | None = None
    frame: int | None = None
    byte: int | None = None

    def __init__(self, message: str, *, path: "str | os.PathLike[str] | None" = None, frame: int | None = None) -> None:
        place = [os.fspath(path)] if path is not None else []
        if frame is not None:
            place.append(f"frame {frame}")
        super().__init__(f"{', '.join(place)}: {message}" if place else message)
        if path is not None:
            self.path = os.fspath(path)
        if frame is not None:
            self.frame = frame


class FormatError(MdreelError, OSError):
    """Raised if a file violates its format, because it is truncated, corrupt, or in a different format.

    Examples
    --------
    >>> from pathlib import Path
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import XTC
    >>> size = Path("truncated.xtc").write_bytes(Path(XTC).read_bytes()[:-100])
    >>> try:
    ...     mdreel.read("truncated.xtc")
    ... except mdreel.errors.FormatError as error:
    ...     print(error.path, error.frame, error.byte)
    truncated.xtc 9 1486544
    """


class FrameIndexError(MdreelError, IndexError):
    """Raised if a requested frame does not exist in the trajectory, or if no frames are selected.

    Examples
    --------
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import DCD
    >>> try:
    ...     mdreel.read(DCD, start=98)
    ... except mdreel.errors.FrameIndexError:
    ...     print("no such frame")
    no such frame
    """


class MismatchError(MdreelError, ValueError):
    """Raised if two inputs do not match, for example because their numbers of atoms or array shapes differ.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> import numpy as np
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import DCD, PSF
    >>> alpha = mda.Universe(PSF, DCD).select_atoms("name CA")
    >>> try:
    ...     mdreel.RMSD(alpha, reference=np.zeros((10, 3)))
    ... except mdreel.errors.MismatchError:
    ...     print("the reference has another number of atoms")
    the reference has another number of atoms
    """


class ArgumentError(MismatchError, TypeError):
    """Raised if an argument has the wrong type, or if there is no parameter with its name.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import DCD, PSF
    >>> try:
    ...     mdreel.RMSD(mda.Universe(PSF, DCD), selection="name CA")
    ... except mdreel.errors.ArgumentError as error:
    ...     print(error)
    RMSD() has no parameter 'selection': did you mean 'select'?
    """


class SelectionError(MdreelError, ValueError):
    """Raised if a selection is empty or invalid, or if it needs an attribute that the topology lacks.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import DCD, PSF
    >>> try:
    ...     mdreel.RMSD(mda.Universe(PSF, DCD), select="resname LIG")
    ... except mdreel.errors.SelectionError:
    ...     print("no such residue")
    no such residue
    """


class UnsupportedError(MdreelError, NotImplementedError):
    """Raised if an input is valid, but mdreel does not support it.

    Examples
    --------
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import DCD
    >>> try:
    ...     mdreel.trajectory.convert(DCD, "adk.lammpstrj")
    ... except mdreel.errors.UnsupportedError:
    ...     print("mdreel does not write this format")
    mdreel does not write this format
    """


class MdreelWarning(UserWarning):
    """Base class of all mdreel warnings, which tell you that a result or a file may not be what you expect.

    Examples
    --------
    Treat all mdreel warnings as errors:

    >>> import warnings
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import DCD
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", mdreel.errors.MdreelWarning)
    ...     frames = mdreel.read(DCD, stop=10)
    """


class DamagedFrameWarning(MdreelWarning):
    """Issued if damaged frames of a trajectory were skipped, as requested with ``on_error``.

    Examples
    --------
    >>> import warnings
    >>> from pathlib import Path
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import XTC
    >>> size = Path("truncated.xtc").write_bytes(Path(XTC).read_bytes()[:-100])
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     frames = mdreel.read("truncated.xtc", on_error="stop")
    >>> len(frames), caught[-1].category.__name__
    (9, 'DamagedFrameWarning')
    """


class UnansweredRequestWarning(MdreelWarning):
    """Issued if a simulation could not write its answer to a request. The simulation continues.

    Examples
    --------
    Ignore the warning in a simulation that runs unattended:

    >>> import warnings
    >>> import mdreel
    >>> with warnings.catch_warnings(), mdreel.live.Producer("run1", n_atoms=3) as producer:
    ...     warnings.simplefilter("ignore", mdreel.errors.UnansweredRequestWarning)
    ...     for request in producer.requests():
    ...         request.refuse("this simulation takes no requests")
    """


class RangeWarning(MdreelWarning):
    """Issued if counts are too low because pairs of atoms have several periodic images within the range.

    Examples
    --------
    >>> import warnings
    >>> import MDAnalysis as mda
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import TPR, XTC
    >>> oxygens = mda.Universe(TPR, XTC).select_atoms("name OW")[:100]
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     rdf = mdreel.InterRDF(oxygens, oxygens, range=(0.0, 60.0)).run(stop=1)
    >>> any(one.category is mdreel.errors.RangeWarning for one in caught)
    True
    """


class MissedFramesWarning(MdreelWarning):
    """Issued if the reader of a running simulation missed some of its frames.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> import mdreel
    >>> with mdreel.live.Producer("run1", n_atoms=3, n_slots=4) as producer:
    ...     for step in range(10):
    ...         published = producer.publish(np.zeros((3, 3)), step, time=float(step))
    >>> with warnings.catch_warnings(record=True) as caught, mdreel.live.Consumer("run1") as frames:
    ...     warnings.simplefilter("always")
    ...     print(frames.next().step, frames.missed_at_start)
    6 6
    >>> caught[0].category is mdreel.errors.MissedFramesWarning
    True
    """


class AtomOrderWarning(MdreelWarning):
    """Issued if the compared atoms may not correspond to the atoms of the reference.

    Examples
    --------
    >>> import warnings
    >>> import MDAnalysis as mda
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import TPR, XTC
    >>> alpha, reference = (mda.Universe(TPR, XTC).select_atoms("name CA") for _ in range(2))
    >>> reference.names = "C1"
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     rmsd = mdreel.RMSD(alpha, reference, select=None)
    >>> any(one.category is mdreel.errors.AtomOrderWarning for one in caught)
    True
    """


class BrokenMoleculeWarning(MdreelWarning):
    """Issued if a molecule that must be whole for an analysis is split across the cell boundary.

    Examples
    --------
    >>> import warnings
    >>> import MDAnalysis as mda
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import TPR, XTC
    >>> protein = mda.Universe(TPR, XTC).select_atoms("protein")
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     rg = mdreel.Rg(protein).run()
    >>> any(one.category is mdreel.errors.BrokenMoleculeWarning for one in caught)
    True
    """


class JumpWarning(MdreelWarning):
    """Issued if an atom jumps across the periodic cell, although the analysis needs a continuous path.

    Examples
    --------
    >>> import warnings
    >>> import MDAnalysis as mda
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import TPR, XTC
    >>> oxygens = mda.Universe(TPR, XTC).select_atoms("name OW")
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     msd = mdreel.EinsteinMSD(oxygens).run()
    >>> any(one.category is mdreel.errors.JumpWarning for one in caught)
    True
    """


class UnitWarning(MdreelWarning):
    """Issued if a length or an angle does not seem to be in Å or degrees.

    Examples
    --------
    >>> import warnings
    >>> import MDAnalysis as mda
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import TPR, XTC
    >>> universe = mda.Universe(TPR, XTC)
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     bonds = mdreel.HydrogenBondAnalysis(universe, d_h_a_angle_cutoff=2.6)
    >>> any(one.category is mdreel.errors.UnitWarning for one in caught)
    True
    """


class StreamError(MdreelError, ConnectionError):
    """Raised if the connection to a running simulation is lost, or if the simulation has failed.

    Examples
    --------
    >>> import mdreel
    >>> producer = mdreel.live.Producer("run1", n_atoms=3).open()
    >>> with mdreel.live.Consumer("run1") as frames:
    ...     producer.end("failed", "out of memory")
    ...     try:
    ...         frames.next()
    ...     except mdreel.errors.StreamError:
    ...         print("the simulation has failed")
    the simulation has failed
    """


class StreamTimeoutError(StreamError, TimeoutError):
    """Raised if a running simulation does not publish a frame within the timeout.

    Examples
    --------
    >>> import mdreel
    >>> with mdreel.live.Producer("run1", n_atoms=3), mdreel.live.Consumer("run1", timeout=0.1) as frames:
    ...     try:
    ...         frames.next()
    ...     except mdreel.errors.StreamTimeoutError:
    ...         print("no frame yet")
    no frame yet
    """


class FunctionError(MdreelError, RuntimeError):
    """Raised if a user function fails or returns an invalid value.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import DCD, PSF
    >>> alpha = mda.Universe(PSF, DCD).select_atoms("name CA")
    >>> try:
    ...     mdreel.from_function(lambda positions: None, alpha).run()
    ... except mdreel.errors.FunctionError:
    ...     print("the function returned no number")
    the function returned no number
    """


class WorkerError(MdreelError, RuntimeError):
    """Raised if a worker is lost during a run, for example because its process was killed.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import DCD, PSF
    >>> rmsd = mdreel.RMSD(mda.Universe(PSF, DCD), select="name CA")
    >>> try:
    ...     shape = rmsd.run(backend="processes", n_workers=2).results.rmsd.shape
    ... except mdreel.errors.WorkerError:
    ...     print("two workers in a row were lost; the memory may be full")
    """
