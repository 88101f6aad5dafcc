"""Schemes of parallel runs: file access, scheduling and communication."""

from dataclasses import dataclass
from typing import Literal

from mdreel.errors import UnsupportedError

Access = Literal["memory", "shared", "segments", "chain", "hdf5-independent", "hdf5-collective"]
Communication = Literal["gather", "global-arrays"]
Reader = Literal["memory", "xtc", "hdf5", "mdreel"]


@dataclass(frozen=True)
class Scheme:
    """A scheme to run an analysis on ranks.

    Attributes
    ----------
    title : str
        Description.
    access : str
        File access of the ranks: none (positions in memory), one shared file, a segment for each rank, all segments
        read as one chain, or one file through parallel HDF5.
    communication : str
        Transfer of results to rank 0: MPI_Gather or a global array.
    reader : str
        Reader, which determines the time of a frame.
    schedule : str
        One static block for each rank, or blocks on demand.
    opens_once : bool
        Whether rank 0 opens the trajectory for all ranks and broadcasts the frame index.
    has_copies : bool
        Whether idle ranks run copies of late blocks.
    is_published : bool
        Whether the scheme is from Khoshlessan et al. (2019) and not mdreel's.
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
        """Whether each frame is a separate request; mdreel reads whole stripes."""
        return self.reader == "xtc"

    @property
    def is_connected(self) -> bool:
        """Whether ranks are connected to rank 0 before results are gathered.

        Parallel HDF5 opens files collectively. With scheduling on demand, mdreel's ranks get their blocks from rank 0.
        """
        return self.access.startswith("hdf5") or self.schedule == "demand"

    @property
    def shares_a_file(self) -> bool:
        """Whether ranks of several nodes read one file independently."""
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
"""Schemes by name: those of Khoshlessan et al. (2019), then mdreel's improvements, added one after another."""


def scheme_of(name: str) -> Scheme:
    """Return a scheme by its name.

    Raises
    ------
    UnsupportedError
        If the name is unknown.
    """
    if name not in SCHEMES:
        raise UnsupportedError(f"unknown scheme {name!r}; known: {', '.join(SCHEMES)}")
    return SCHEMES[name]
