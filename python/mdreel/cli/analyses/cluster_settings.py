"""Settings of the methods of ``mdreel cluster-frames``."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mdreel.analysis.choices import ClusterMethod, InitialCenters
from mdreel.cli.errors import CommandError, ExitCode, failing_with

if TYPE_CHECKING:
    import numpy as np
    from MDAnalysis import AtomGroup
    from numpy.typing import NDArray

    from mdreel._core import Source
    from mdreel.analysis.clustering.frame_clusters import FrameClusters

CUTOFF, MIN_FRAMES, SEED = 1.0, 5, 0
_CENTERS = ("k-means", "k-medoids")
_NO_FEATURES = ("frame", "time", "cluster")
"""Columns of a table that describe no frame."""


@dataclass(frozen=True)
class ClusterSettings:
    """A method of clustering with its options. Options that were not given are None."""

    method: ClusterMethod
    cutoff: float | None
    n_clusters: int | None
    min_frames: int | None
    init: InitialCenters | None
    starts: int | None
    seed: int | None
    features: Path | None
    weights: str

    def check(self) -> None:
        """Reject options of another method."""
        if self.method in _CENTERS:
            self._check_centers()
        else:
            self._check_no_centers()
        if self.n_clusters is not None and self.method in ("gromos", "dbscan", "online"):
            message = f"--n-clusters is not for --method {self.method}: use --cutoff"
            raise CommandError(message, ExitCode.USAGE)
        if self.n_clusters is not None and self.cutoff is not None:
            raise CommandError("give either --cutoff or --n-clusters, not both", ExitCode.USAGE)
        if self.min_frames is not None and self.method != "dbscan":
            message = f"--min-frames is for --method dbscan, not {self.method}: leave it out"
            raise CommandError(message, ExitCode.USAGE)
        if self.features is not None:
            self._check_features()

    def _check_centers(self) -> None:
        """Reject missing and invalid options of k-means and k-medoids."""
        if self.cutoff is not None:
            raise CommandError(f"--cutoff is not for --method {self.method}: give --n-clusters", ExitCode.USAGE)
        if self.n_clusters is None:
            message = f"--method {self.method} needs the number of clusters: give --n-clusters"
            raise CommandError(message, ExitCode.USAGE)
        if self.init == "nani" and (self.starts or 1) > 1:
            message = "--starts is not for --init nani, which always starts from the same frames: leave it out"
            raise CommandError(message, ExitCode.USAGE)

    def _check_no_centers(self) -> None:
        """Reject options of k-means and k-medoids for other methods."""
        for name, value in (("--init", self.init), ("--starts", self.starts), ("--seed", self.seed)):
            if value is not None:
                message = f"{name} is for --method k-means and k-medoids, not {self.method}: leave it out"
                raise CommandError(message, ExitCode.USAGE)

    def _check_features(self) -> None:
        """Reject features of another method, and weights that features do not have."""
        if self.method != "k-means":
            message = f"--features is for --method k-means, not {self.method}: leave it out"
            raise CommandError(message, ExitCode.USAGE)
        if self.weights != "none":
            raise CommandError("--weights is for positions: leave it out, or --features", ExitCode.USAGE)

    def facts(self) -> dict[str, str | float]:
        """Return the metadata of the tables."""
        found: dict[str, str | float] = {"method": self.method}
        if self.n_clusters is not None:
            found["n_clusters"] = self.n_clusters
        else:
            found["cutoff"] = self._limit
        if self.method == "dbscan":
            found["min_frames"] = self.min_frames or MIN_FRAMES
        if self.method in _CENTERS:
            found |= {"init": self._init, "seed": self.seed or SEED}
            if self.starts is not None:
                found["starts"] = self.starts
        if self.features is not None:
            found["features"] = str(self.features)
        return {**found, "weights": self.weights}

    @property
    def _limit(self) -> float:
        return CUTOFF if self.cutoff is None else self.cutoff

    @property
    def _init(self) -> InitialCenters:
        return self.init or "k-means++"

    def make(self, atoms: "AtomGroup", source: "Source") -> "FrameClusters":
        """Create the analysis."""
        mass = "mass" if self.weights == "mass" else None
        if self.method == "gromos":
            from mdreel.analysis.clustering.gromos import GromosClustering

            return GromosClustering(atoms, None, self._limit, mass, trajectory=source)
        if self.method == "dbscan":
            from mdreel.analysis.clustering.density import DensityClustering

            fewest = self.min_frames or MIN_FRAMES
            return DensityClustering(atoms, None, self._limit, fewest, mass, trajectory=source)
        if self.method == "k-means" or self.method == "k-medoids":  # noqa: PLR1714 (which mypy understands)
            return self._make_with_centers(atoms, source)
        if self.method == "online":
            from mdreel.analysis.clustering.online import OnlineClustering

            return OnlineClustering(atoms, None, self._limit, mass, trajectory=source)
        from mdreel.analysis.clustering.hierarchical import HierarchicalClustering

        limit = self._limit if self.n_clusters is None else None
        return HierarchicalClustering(atoms, None, self.method, limit, self.n_clusters, mass, trajectory=source)

    def _make_with_centers(self, atoms: "AtomGroup", source: "Source") -> "FrameClusters":
        """Create an analysis that needs the number of clusters and first centres."""
        mass = "mass" if self.weights == "mass" else None
        n_clusters, seed = self.n_clusters or 0, self.seed or SEED
        if self.method == "k-medoids":
            from mdreel.analysis.clustering.k_medoids import KMedoidsClustering

            return KMedoidsClustering(
                atoms,
                None,
                n_clusters=n_clusters,
                init=self._init,
                n_starts=self.starts,
                seed=seed,
                weights=mass,
                trajectory=source,
            )
        from mdreel.analysis.clustering.k_means import KMeansClustering

        return KMeansClustering(
            atoms,
            None,
            n_clusters=n_clusters,
            features=None if self.features is None else _features_in(self.features),
            init=self._init,
            n_starts=self.starts,
            seed=seed,
            weights=mass,
            trajectory=source,
        )


def _features_in(path: Path) -> "NDArray[np.float64]":
    """Return the columns of numbers of a table, a row for each frame."""
    import numpy as np

    from mdreel.results.read_table import read_table

    with failing_with(ExitCode.INPUT):
        columns = [one for one in read_table(path) if one.name not in _NO_FEATURES]
    if not columns:
        message = f"{path}: the table has no features: expected columns besides the frame and the time"
        raise CommandError(message, ExitCode.INPUT)
    return np.stack([one.values.astype(np.float64) for one in columns], axis=1)
