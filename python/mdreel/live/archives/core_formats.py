"""Archives in the formats that the core encodes."""

import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mdreel._core import FrameEncoder
from mdreel.live.archives.frames import ArchivedFrame, check_alike
from mdreel.live.archives.part_file import PartFile
from mdreel.live.channels.encoder_outline import Outline
from mdreel.trajectory.output_file import find_format

_ALIKE = "NCDF"  # holds several quantities, the same in each frame


class EncodedFrames:
    """Appends frames to a file as the core encodes them.

    Parameters
    ----------
    part : PartFile
        The file, as long as was committed.
    precision : float, optional
        Integers per nm, for XTC.
    n_atoms : int
        Number of atoms.
    quantities : list of str
        What frames may have.
    state : dict, optional
        What was committed.

    Notes
    -----
    Formats with one interval for all times say it in front of the first frame: that is kept until there are two.
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
        """Where the whole file is when it has been made."""
        return self._part.hidden

    def append(self, frame: ArchivedFrame) -> bool:
        """Append a frame.

        Returns
        -------
        bool
            Whether all frames so far are in the file.

        Raises
        ------
        MismatchError
            If the format cannot hold the frame.
        OSError
            If it cannot be written.
        """
        if self._encoder is None:
            if self._waiting is None and not self._format.keeps_times:
                self._waiting = frame.copy()
                return False
            self._start(self._waiting or frame, frame)
        self._put(frame)
        return True

    def complete(self) -> None:
        """Write what the format says of all frames, and have the disk take it."""
        if self._waiting is not None:
            self._start(self._waiting, self._waiting)
        if self._encoder is not None:
            for at, content in self._encoder.end(self.n_frames):
                self._part.patch(at, content)
        self._part.sync()

    def state(self) -> dict[str, object]:
        """Return what is needed to go on."""
        return {"outline": None if self._outline is None else asdict(self._outline)}

    def clear(self) -> None:
        """Remove what is left when the file has its name: nothing here, as it is the same file."""

    def _start(self, first: ArchivedFrame, second: ArchivedFrame) -> None:
        """Write what stands in front of the first frame, and that if it was kept."""
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
                stacklevel=3,
            )
        cell = None if frame.cell is None else frame.cell.tolist()
        given = list(frame.quantities.items())
        self._part.append(self._encoder.encode(self.n_frames, frame.step, frame.time, cell, given))
        self.n_frames += 1
