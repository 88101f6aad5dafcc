"""Measurements that Khoshlessan et al. (2019) published."""

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mdreel_lab.prediction.schemes import SCHEMES
from mdreel_lab.prediction.workload import Workload

QUANTITIES = ("t_total", "t_block", "t_block_most", "t_io", "t_comp", "t_open", "t_end_loop", "t_comm")

HEADLINE = {
    "shared-gather": (24, 72),
    "memory-gather": (72,),
    "segments-gather": (192,),
    "segments-global-arrays": (192,),
    "chain-gather": (192,),
    "chain-global-arrays": (192,),
    "hdf5-independent": (384,),
}
"""Headline points of the paper, which distinguish its schemes: numbers of ranks for the plain RMSD."""

# README.md, "Cα RMSD from XTC": mdreel against MDAnalysis on one core with the same file.
_MDREEL_SPEEDUP = 25.6


@dataclass(frozen=True)
class Series:
    """Published scaling of a scheme.

    Attributes
    ----------
    scheme : str
        Name of the scheme.
    repeats_of_compute : int
        Number of computations for each frame.
    figure : str
        Figure of the paper.
    fitted : tuple of int
        Numbers of ranks whose times were used to fit the model.
    times : dict of str to dict of int to float
        By quantity (`QUANTITIES`) and number of ranks, s.
    """

    scheme: str
    repeats_of_compute: int
    figure: str
    fitted: tuple[int, ...]
    times: dict[str, dict[int, float]]

    @property
    def n_ranks(self) -> list[int]:
        """Numbers of ranks, without the serial run."""
        return [n for n in self.times["t_total"] if n > 1]

    def speedup(self, n_ranks: int) -> float:
        """Return S(N) as published."""
        return self.times["t_total"][1] / self.times["t_total"][n_ranks]

    @property
    def speedups(self) -> NDArray[np.float64]:
        """S(N) at `n_ranks`, shape (n,), float64."""
        return np.array([self.speedup(n) for n in self.n_ranks])

    @property
    def workload(self) -> Workload:
        """Workload of the serial run."""
        facts = _content()
        n_frames = int(facts["n_frames"])
        io, compute, total = (self.times[name][1] for name in ("t_io", "t_comp", "t_total"))
        opening = self.times["t_open"][1]
        reader = SCHEMES[self.scheme].reader
        times = f", computed {self.repeats_of_compute} times" if self.repeats_of_compute > 1 else ""
        return Workload(
            title=f"RMSD of AdK 600x{times}",
            n_frames=n_frames,
            frame_bytes=float(facts.get(f"{reader}_frame_bytes", 0.0)),
            read_s=io / n_frames,
            decompress_s=0.0,
            compute_s=compute / n_frames,
            other_s=max(total - opening - io - compute, 0.0) / n_frames,
            opening_s=opening,
            result_bytes=float(facts["result_bytes"]),
        )


@cache
def published() -> tuple[Series, ...]:
    """Return all published series."""
    return tuple(
        Series(
            table["scheme"],
            table.get("repeats_of_compute", 1),
            table["figure"],
            tuple(table["fitted"]),
            {name: dict(zip(table["n_ranks"], table[name], strict=True)) for name in QUANTITIES},
        )
        for table in _content()["series"]
    )


def series_of(scheme: str, repeats_of_compute: int = 1) -> Series | None:
    """Return the published series of a scheme, or None."""
    of_scheme = (series for series in published() if series.scheme == scheme)
    return next((series for series in of_scheme if series.repeats_of_compute == repeats_of_compute), None)


def published_workload(scheme: str) -> Workload:
    """Return the plain RMSD of the paper as a workload for the reader of a scheme.

    For mdreel, the times of MDAnalysis are divided by the measured speed-up of mdreel. The ratio of reading,
    decompression and computation is assumed to be 2:5:3, which does not change the total time.
    """
    reader = SCHEMES[scheme].reader
    if reader != "mdreel":
        found = next(series for series in published() if SCHEMES[series.scheme].reader == reader)
        return found.workload
    theirs = published_workload("shared-gather")
    frame_s = theirs.frame_s / _MDREEL_SPEEDUP
    return Workload(
        title="RMSD of AdK 600x",
        n_frames=theirs.n_frames,
        frame_bytes=theirs.frame_bytes,
        read_s=0.2 * frame_s,
        decompress_s=0.5 * frame_s,
        compute_s=0.3 * frame_s,
        other_s=0.0,
        opening_s=theirs.opening_s,
        result_bytes=theirs.result_bytes,
    )


@cache
def _content() -> dict[str, Any]:
    text = (files("mdreel_lab.prediction") / "published.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)
