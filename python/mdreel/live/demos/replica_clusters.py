"""Clusters of the frames that all replicas of a running ensemble have published.

The program ``python -m mdreel.live.demos.replica_clusters`` repeats the clustering while the replicas run. It publishes
the results on the channel of each replica, where ``mdreel watch`` shows them, and writes them to a file.
"""

import argparse
import warnings
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from time import monotonic, sleep

import numpy as np
from numpy.typing import NDArray

from mdreel._core import FrameSet, await_arrival
from mdreel.analysis.base.observer import ResultsView
from mdreel.analysis.clustering.gromos import GromosClustering
from mdreel.live.channels.channel import Channel
from mdreel.live.notices.notice_board import NoticeBoard
from mdreel.results.column import Column
from mdreel.results.files import write

MOST_FRAMES = 400
"""Maximum number of frames of each replica that are compared. If there are more, only every second one is kept, then
every fourth one, and so on."""

_SHOWN = "Clusters of all replicas"
_HISTORY = "Visited clusters"
_JOIN_SECONDS = 120.0
_POLL_SECONDS = 0.02
"""Time to wait for frames of a replica, in s. Without any wait, the source does not look for new frames."""


class ReplicaFrames:
    """At most `MOST_FRAMES` frames of a replica.

    Parameters
    ----------
    channel : str
        Name or directory of the channel, which may not exist yet.
    atoms : ndarray, shape (n_atoms,), uint32
        Indices of the atoms to keep.

    Attributes
    ----------
    positions : ndarray, shape (n_kept, n_atoms, 3), float32
        Positions of the kept frames, in Å.
    n_frames : int
        Number of frames that have arrived.
    last_time : float
        Time of the latest frame, in ps.
    is_over : bool
        Whether no more frames will arrive.
    source : Source
        The frames of the channel.
    """

    def __init__(self, channel: str, atoms: NDArray[np.uint32]) -> None:
        self.source = Channel(channel, wait=_JOIN_SECONDS, restart=_JOIN_SECONDS).source()
        self.positions = np.empty((0, len(atoms), 3), np.float32)
        self.n_frames = 0
        self.last_time = 0.0
        self.is_over = False
        self._atoms = atoms
        self._stride = 1

    def take(self) -> bool:
        """Take the frames that have arrived. Return whether there were any."""
        n_there, self.is_over = await_arrival(self.source, self.n_frames, 1, _POLL_SECONDS)
        n_new = n_there - self.n_frames
        if n_new <= 0:
            return False
        read = self.source.read(FrameSet.range(self.n_frames, 1, n_new), self._atoms)
        first = -self.n_frames % self._stride
        self.positions = np.concatenate([self.positions, read.positions[first :: self._stride]])
        self.n_frames, self.last_time = n_there, float(read.times[-1])
        while len(self.positions) > MOST_FRAMES:
            self.thin(2 * self._stride)
        return True

    @property
    def stride(self) -> int:
        """Number of frames between two kept frames."""
        return self._stride

    def thin(self, stride: int) -> None:
        """Keep only frames whose number is a multiple of `stride`, which must be a multiple of the current stride."""
        self.positions = self.positions[:: stride // self._stride]
        self._stride = stride


class ReplicaClusters:
    """Clusters of the frames of all replicas.

    Parameters
    ----------
    topology : Path
        Topology of the replicas.
    selection : str
        Atoms whose RMSD is compared.
    channels : sequence of str
        Channels of the replicas.
    cutoff : float
        Maximum RMSD of two neighbours, in Å.

    Attributes
    ----------
    replicas : list of ReplicaFrames
        Frames of each replica.
    populations : ndarray, shape (n_clusters, n_replicas), float64
        Share of the frames of each replica that are in each cluster. Clusters are sorted by their total size.
    sizes : ndarray, shape (n_clusters,), int64
        Number of frames in each cluster.
    """

    def __init__(self, topology: Path, selection: str, channels: Sequence[str], cutoff: float) -> None:
        import MDAnalysis as mda

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the topology lacks optional attributes
            atoms = mda.Universe(str(topology)).select_atoms(selection)
            self._universe = mda.Merge(atoms)
        self._cutoff = cutoff
        self.replicas = [ReplicaFrames(channel, atoms.ix.astype(np.uint32)) for channel in channels]
        self.populations = np.empty((0, len(channels)))
        self.sizes = np.empty(0, np.int64)
        self._history: list[list[tuple[int, float, int, float]]] = [[] for _ in channels]

    @property
    def is_over(self) -> bool:
        """Whether all replicas have ended."""
        return all(one.is_over for one in self.replicas)

    def take(self) -> bool:
        """Take the frames that have arrived from all replicas. Return whether there were any."""
        return sum(one.take() for one in self.replicas) > 0  # not `any`, which would stop at the first

    def update(self) -> None:
        """Cluster the kept frames of all replicas. The frames of each replica are evenly spaced in time."""
        stride = max(one.stride for one in self.replicas)
        for one in self.replicas:
            one.thin(stride)
        self._universe.load_new(np.concatenate([one.positions for one in self.replicas]), order="fac")
        found = GromosClustering(self._universe, cutoff=self._cutoff).run(n_workers=1).results
        ends = np.cumsum([len(one.positions) for one in self.replicas])
        each = [np.bincount(labels, minlength=len(found.sizes)) for labels in np.split(found.labels, ends[:-1])]
        counts = np.stack(each, axis=1)
        self.sizes = found.sizes
        self.populations = counts / np.maximum(1, counts.sum(axis=0))
        for one, shares, past in zip(self.replicas, self.populations.T, self._history, strict=True):
            if one.n_frames and (not past or past[-1][0] != one.n_frames - 1):
                past.append((one.n_frames - 1, one.last_time, int((shares > 0).sum()), float(shares[0])))

    def columns(self) -> list[Column]:
        """Return a row per cluster: its size, its share of all frames, and its share of the frames of each replica."""
        shares = self.sizes / max(1, int(self.sizes.sum()))
        head = [Column("cluster", "", np.arange(len(self.sizes))), Column("size", "", self.sizes)]
        each = [Column(f"population_{i:03d}", "", values) for i, values in enumerate(self.populations.T)]
        return [*head, Column("population", "", shares), *each]

    def views(self, replica: int) -> list[ResultsView]:
        """Return what the page shows with a replica: populations of the clusters, and the visited clusters over time.

        The numbers of clusters can change between two updates, because the largest one always has number 0.
        """

        def populations() -> list[Column]:
            number, _, of_all, *each = self.columns()
            here = Column("population_here", "", each[replica].values)
            return [number, Column("population_of_all", "", of_all.values), here]

        def history() -> list[Column]:
            frames, times, visited, largest = np.array(self._history[replica], np.float64).reshape(-1, 4).T.copy()
            head = [Column("frame", "", frames.astype(np.int64)), Column("time", "ps", times)]
            return [*head, Column("visited", "", visited.astype(np.int64)), Column("in_largest", "", largest)]

        return [ResultsView(_SHOWN, populations), ResultsView(_HISTORY, history)]


def follow(clusters: ReplicaClusters, every: float, table: Path) -> None:
    """Repeat the clustering until all replicas have ended.

    Parameters
    ----------
    clusters : ReplicaClusters
        The clusters.
    every : float
        Time between two updates, in s.
    table : Path
        Table of the clusters, which will be replaced by each update.
    """
    started = monotonic()
    with ExitStack() as stack:
        boards = [
            stack.enter_context(NoticeBoard(one.source, clusters.views(i))) for i, one in enumerate(clusters.replicas)
        ]
        due, has_news, is_over = monotonic(), False, False
        while not is_over:
            has_news = clusters.take() or has_news
            is_over = clusters.is_over
            if has_news and (is_over or monotonic() >= due):
                clusters.update()
                write(table, clusters.columns(), {"title": _SHOWN}, force=True)
                for board, one in zip(boards, clusters.replicas, strict=True):
                    board.tell(one.n_frames, {"wall": monotonic() - started})
                due, has_news = monotonic() + every, False
            if not is_over:
                sleep(0.2)
        for board in boards:
            board.end("finished")


def main() -> None:
    """Cluster the frames of replicas."""
    parser = argparse.ArgumentParser(description="Cluster the frames of all replicas of a running ensemble.")
    parser.add_argument("topology", type=Path)
    parser.add_argument("channels", nargs="+")
    parser.add_argument("--select", default="name CA")
    parser.add_argument("--cutoff", type=float, default=0.8, help="in Å")
    parser.add_argument("--every", type=float, default=5.0, help="time between two updates in s")
    parser.add_argument("--output", type=Path, default=Path("clusters.csv"))
    given = parser.parse_args()
    follow(ReplicaClusters(given.topology, given.select, given.channels, given.cutoff), given.every, given.output)


if __name__ == "__main__":
    main()
