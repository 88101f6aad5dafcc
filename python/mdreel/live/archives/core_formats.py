"""Archives in formats that the core encodes frame by frame."""

import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mdreel._core import FrameEncoder
from mdreel.errors import MdreelWarning
from mdreel.live.archives.frames import ArchivedFrame, check_alike
from mdreel.live.archives.part_file import PartFile
from mdreel.live.channels.encoder_outline import Outline
from mdreel.trajectory.output_file import find_format

_ALIKE = "NCDF"  # stores several quantities, the same in each frame


class EncodedFrames:
    """Encodes frames with the core and appends them to a file.

    Parameters
    ----------
    part : PartFile
        The incomplete file, truncated to the committed length.
    precision : float, optional
        Precision of XTC files, in integers per nm.
    n_atoms : int
        Number of atoms.
    quantities : list of str
        Quantities that frames can contain.
    state : dict, optional
        Committed state.

    Notes
    -----
    Some formats store a constant time interval before the first frame. In this case, the first frame is not written
    until the second frame is known.
    """

    def __init__(
        self, part: PartFile, precision: float | None, n_atoms: int, quantities: list[str], state: dict[str, Any]
    ) -> None:
        self._part = part
        self._precision = precision
        self._n_atoms = n_atoms
        self._quantities = quantities
        self._format = find_format(part.path)
        self._outline: Outline | None = None
        self._encoder: FrameEncoder | None = None
        self._waiting: ArchivedFrame | None = None
        self._has_warned = False
        self.n_frames = 0
        if state.get("outline"):
            self.n_frames = state["n_frames"]
            self._begin(Outline(**state["outline"]))

    @property
    def whole(self) -> Path:
        """Path of the complete file before it is renamed."""
        return self._part.hidden

    def append(self, frame: ArchivedFrame) -> bool:
        """Append a frame. Return whether all frames so far are in the file.

        Raises
        ------
        MismatchError
            If the format cannot store the frame.
        """
        if self._encoder is None:
            if self._waiting is None and not self._format.keeps_times:
                self._waiting = frame.copy()
                return False
            self._start(self._waiting or frame, frame)
        self._put(frame)
        return True

    def complete(self) -> None:
        """Write the fields that depend on all frames, and sync the file."""
        if self._waiting is not None:
            self._start(self._waiting, self._waiting)
        if self._encoder is not None:
            for at, content in self._encoder.end(self.n_frames):
                self._part.patch(at, content)
        self._part.sync()

    def state(self) -> dict[str, object]:
        """Return the state that is needed to continue later."""
        return {"outline": None if self._outline is None else asdict(self._outline)}

    def clear(self) -> None:
        """Do nothing, because these formats do not need other files."""

    def _start(self, first: ArchivedFrame, second: ArchivedFrame) -> None:
        """Write the header of the file, and the first frame if it has not been written yet."""
        outline = Outline(
            n_atoms=self._n_atoms,
            quantities=list(first.quantities) if self._format.name == _ALIKE else self._quantities,
            has_unit_cell=first.cell is not None,
            first_step=first.step,
            steps_per_frame=second.step - first.step or 1,
            first_time=first.time,
            interval=second.time - first.time,
        )
        self._part.append(self._begin(outline).begin())
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            self._put(waiting)

    def _begin(self, outline: Outline) -> FrameEncoder:
        self._outline = outline
        self._encoder = FrameEncoder(self._part.path, outline, self._precision)
        return self._encoder

    def _put(self, frame: ArchivedFrame) -> None:
        assert self._encoder is not None and self._outline is not None  # noqa: PT018 (one follows from the other)
        if self._format.name == _ALIKE:
            check_alike(self._outline.quantities, frame, self._format.name)
        if not (self._format.keeps_times or self._has_warned or self._outline.is_due(self.n_frames, frame.time)):
            self._has_warned = True
            warnings.warn(
                f"{self._part.path}: the file will have a frame every {self._outline.interval:g} ps, but step "
                f"{frame.step} is at {frame.time:g} ps",
                MdreelWarning,
                stacklevel=3,
            )
        cell = None if frame.cell is None else frame.cell.tolist()
        given = list(frame.quantities.items())
        self._part.append(self._encoder.encode(self.n_frames, frame.step, frame.time, cell, given))
        self.n_frames += 1
