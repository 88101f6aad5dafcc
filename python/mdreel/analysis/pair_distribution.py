"""Bins, normalisation and warnings for radial distribution functions."""

from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mdreel.analysis.base.analysis import Analysis
from mdreel.analysis.periodic.unique_range import warn_of_range
from mdreel.errors import MismatchError
from mdreel.execution.tally import Tally
from mdreel.foundation.size_check import check_size
from mdreel.foundation.unit_check import check_length
from mdreel.results.labelled_array import LabelledArray
from mdreel.results.results import Results

_DISTANCE_BACKENDS = ("serial", "openmp", "distopia")
LABELS = {"rdf": "g(r)", "density": "Density (Å⁻³)", "none": "Pairs in a frame"}
DIMENSIONS = MappingProxyType(
    {"bins": ("bin",), "rdf": ("bin",), "count": ("bin",), "edges": ("edge",), "volume_cum": ()}
)
"""Dimensions of the results that are arrays or numbers."""

MOVED = {name: name for name in ("rdf", "count", "bins", "edges")}
"""Results that are also available as attributes, as in MDAnalysis."""

_UNITS = {"rdf": "", "density": "Å^-3", "none": ""}


def norm_of(norm: Any) -> str:
    """Return the name of the normalisation in lower case. For None, return ``"none"``."""
    name = str(norm).lower()
    if name not in LABELS:
        raise MismatchError(f"{norm!r} is an invalid norm: expected one of {', '.join(LABELS)}")
    return name


def units_of(norm: str) -> dict[str, str]:
    """Return the units of the results for a normalisation."""
    return {"bins": "Å", "edges": "Å", "volume_cum": "Å^3", "rdf": _UNITS[norm]}


def bin_labels(results: Results) -> LabelledArray:
    """Return the bin centres as labels for the ``bin`` dimension."""
    return LabelledArray("bin", ("bin",), "Å", results.bins)


def checked_backend(backend: Any) -> str:
    """Check and return the name of MDAnalysis's distance backend, which has no effect in mdreel."""
    if str(backend).lower() not in _DISTANCE_BACKENDS:
        message = f"backend must be one of {', '.join(_DISTANCE_BACKENDS)}, the backends of MDAnalysis's distances"
        raise MismatchError(f"{message}, not {backend!r}: give the executor to run(backend=...)")
    return str(backend)


def edges_of(nbins: int, limits: tuple[float, float]) -> NDArray[np.float64]:
    """Return the edges of the bins, shape (nbins + 1,), in Å."""
    low, high = limits
    if nbins < 1 or not (np.isfinite([low, high]).all() and low < high):
        raise MismatchError(f"expected at least one bin and an ascending range, got {nbins} bins, {low} to {high}")
    check_length("the upper end of range", high, empty=0.0, doubtful=2.0)
    check_size(f"{nbins:,} bins", 16 * nbins, "give a smaller nbins")
    return np.histogram_bin_edges([], nbins, (low, high)).astype(np.float64)


def begin(analysis: Analysis, edges: NDArray[np.float64]) -> None:
    """Store the edges and the centres of the bins in the results."""
    analysis.results.edges = edges
    analysis.results.bins = 0.5 * (edges[:-1] + edges[1:])


def warn_of_images(tally: Tally, edges: NDArray[np.float64]) -> None:
    """Warn if the range extends beyond the distances at which images are unique."""
    what = "the range of the radial distribution function reaches {}, but counts and g(r) at long distances are too low"
    warn_of_range(tally, edges[-1], what, f"Use range=({edges[0]:g}, {{0}}), or --to {{0}} on the command line")


def divisor_of(
    analysis: Analysis, norm: str, edges: NDArray[np.float64], tally: Tally, n_pairs: float
) -> float | NDArray[np.float64]:
    """Return the divisor that normalises the counts of all frames, shape (nbins,)."""
    if norm == "none":
        return float(tally.n_frames)
    shells: NDArray[np.float64] = 4 / 3 * np.pi * np.diff(edges**3) * tally.n_frames
    if norm == "density":
        return shells
    analysis.results.volume_cum = float(tally.sums[0])
    return shells * (n_pairs / (float(tally.sums[0]) / tally.n_frames))
