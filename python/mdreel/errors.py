"""Exceptions and warnings of mdreel.

Each message contains the location of the problem (a file, frame or argument), the expected value and the actual value.
The Rust core raises the same exceptions. Operating system errors keep their usual types. For example, if a file is
missing, a ``FileNotFoundError`` is raised. All exceptions have the parameters and attributes of `MdreelError`.
"""

import os


def __dir__() -> list[str]:
    return [name for name, value in globals().items() if isinstance(value, type)]


class MdreelError(Exception):
    """Base class for all mdreel exceptions.

    Parameters
    ----------
    message : str
        The expected value, the actual value, and how to fix the problem.
    path : str or os.PathLike, optional
        The file, channel or directory with the problem, which is used as the start of the message.
    frame : int, optional
        Number of the frame with the problem, starting from 0.

    Attributes
    ----------
    path : str or None
        The file, channel or directory with the problem, or None if there is none.
    frame : int or None
        Number of the frame with the problem, starting from 0, or None if it is unknown.
    byte : int or None
        Position of the first damaged byte in the file, or None if it is unknown.

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
    """Error raised for a file that is truncated, corrupt, or in a different format.

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
    """Error raised for a requested frame that does not exist in the trajectory, or for an empty range of frames.

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
    """Error raised for inputs that do not match, for example in the number of atoms or the shape of an array.

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
    ...     print("the reference has a different number of atoms")
    the reference has a different number of atoms
    """


class ArgumentError(MismatchError, TypeError):
    """Error raised for an argument of the wrong type, or for an unknown parameter.

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
    """Error raised for a selection that is empty or invalid, or that needs an attribute the topology does not have.

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
    """Error raised for valid input that mdreel does not support.

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
    """Base class for all mdreel warnings, which indicate that a result or a file may differ from what you expect.

    Examples
    --------
    Treat the warnings of mdreel as errors:

    >>> import warnings
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import DCD
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", mdreel.errors.MdreelWarning)
    ...     frames = mdreel.read(DCD, stop=10)
    """


class DamagedFrameWarning(MdreelWarning):
    """Warning about damaged frames of a trajectory that were skipped, as requested with ``on_error``.

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
    """Warning that a simulation received a request and continues, but could not write its answer to the request.

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
    """Warning that counts are too low at distances where a pair of atoms has more than one periodic image.

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
    """Warning that a reader of a running simulation did not receive all frames of the run.

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
    ...     print(frames.next().step, frames.missed_at_start, caught[-1].category.__name__)
    6 6 MissedFramesWarning
    """


class EndedRunWarning(MdreelWarning):
    """Warning that the run of a channel has ended, so that a reader receives only the remaining frames.

    Examples
    --------
    >>> import mdreel
    >>> channel = mdreel.live.channel("run1", wait=600, new_run=True)  # waits for the next run instead
    """


class SlowConsumerWarning(MdreelWarning):
    """Warning that a simulation is waiting for a consumer of its channel. The message identifies the consumer process.

    Examples
    --------
    >>> import mdreel
    >>> producer = mdreel.live.Producer("run1", n_atoms=3, warn_after=60)  # s
    """


class AtomOrderWarning(MdreelWarning):
    """Warning that atoms may not correspond to the reference atoms with which they are compared.

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
    """Warning that a molecule is broken across the periodic boundary, although an analysis needs it whole.

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
    """Warning that an atom jumps across the periodic boundary, although an analysis needs its continuous path.

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
    """Warning about a length or an angle that seems to be in a unit other than Å or degrees.

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
    """Error raised if the connection to a running simulation is lost, or if the simulation has failed.

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
    """Error raised if a running simulation does not publish a frame within the timeout.

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
    """Error raised for a user function that failed or returned an invalid value.

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
    """Error raised if a worker is lost during a run, for example because its process was killed.

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
