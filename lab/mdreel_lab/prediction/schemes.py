"""Schemes: how ranks come to the frames, who does which, and how results come together."""

from dataclasses import dataclass
from typing import Literal

from mdreel.errors import UnsupportedError

Access = Literal["memory", "shared", "segments", "chain", "hdf5-independent", "hdf5-collective"]
Communication = Literal["gather", "global-arrays"]
Reader = Literal["memory", "xtc", "hdf5", "mdreel"]


@dataclass(frozen=True)
class Scheme:
    """A way of running an analysis on ranks.

    Attributes
    ----------
    title : str
        What it is, in words.
    access : str
        How ranks come to the bytes: not at all, one file, a file for each rank, all these files read as one, or one
        file by parallel HDF5.
    communication : str
        How results come to rank 0: by MPI_Gather, or over a global array.
    reader : str
        Whose reader, which says how long a frame takes.
    schedule : str
        Whether each rank has one block, or whoever is free takes the next blocks.
    opens_once : bool
        Whether rank 0 opens the trajectory for all, and tells them where the frames are.
    has_copies : bool
        Whether late blocks are handed out once more.
    is_published : bool
        Whether it is one of Khoshlessan et al. (2019); otherwise mdreel's.
    """

    title: str
    access: Access
    communication: Communication
    reader: Reader
    schedule: Literal["static", "demand"] = "static"
    opens_once: bool = False
    has_copies: bool = False
    is_published: bool = False

    @property
    def reads_frame_by_frame(self) -> bool:
        """Whether each frame is a request of its own; mdreel reads whole stripes."""
        return self.reader == "xtc"

    @property
    def is_connected(self) -> bool:
        """Whether ranks are connected to rank 0 before results are gathered.

        Opening a file by parallel HDF5 is collective. The board from which mdreel's ranks take blocks is on rank 0.
        """
        return self.access.startswith("hdf5") or self.schedule == "demand"

    @property
    def shares_a_file(self) -> bool:
        """Whether ranks of several nodes read one file by calls that each of them makes for itself."""
        return self.access == "shared"


def _published(title: str, access: Access, communication: Communication, reader: Reader = "xtc") -> Scheme:
    return Scheme(title, access, communication, reader, is_published=True)


SCHEMES: dict[str, Scheme] = {
    "shared-gather": _published("one shared file, gather", "shared", "gather"),
    "shared-global-arrays": _published("one shared file, global array", "shared", "global-arrays"),
    "memory-gather": _published("no I/O, gather", "memory", "gather", "memory"),
    "segments-gather": _published("a file for each rank, gather", "segments", "gather"),
    "segments-global-arrays": _published("a file for each rank, global array", "segments", "global-arrays"),
    "chain-gather": _published("a chain of segments, gather", "chain", "gather"),
    "chain-global-arrays": _published("a chain of segments, global array", "chain", "global-arrays"),
    "hdf5-independent": _published("parallel HDF5, independent", "hdf5-independent", "gather", "hdf5"),
    "hdf5-collective": Scheme("parallel HDF5, collective", "hdf5-collective", "gather", "hdf5"),
    "demand": Scheme("blocks on demand", "shared", "gather", "xtc", "demand"),
    "stripes": Scheme("blocks on demand, whole stripes, wanted atoms", "shared", "gather", "mdreel", "demand"),
    "one-opening": Scheme(
        "blocks on demand, whole stripes, one opening", "shared", "gather", "mdreel", "demand", opens_once=True
    ),
    "mdreel": Scheme(
        "mdreel (demand, stripes, one opening, copies)", "shared", "gather", "mdreel", "demand", True, True
    ),
    "mdreel-segments": Scheme("mdreel, a file for each rank", "segments", "gather", "mdreel"),
}
"""The schemes by name: those of Khoshlessan et al. (2019), then what mdreel does otherwise, one step after another."""


def scheme_of(name: str) -> Scheme:
    """Return a scheme by its name.

    Raises
    ------
    UnsupportedError
        If there is none of this name.
    """
    if name not in SCHEMES:
        raise UnsupportedError(f"unknown scheme {name!r}; known: {', '.join(SCHEMES)}")
    return SCHEMES[name]
