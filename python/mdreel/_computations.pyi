# A part of what mdreel._core has, which is where it is imported from: computations, and arithmetic of analyses.

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

_Members: TypeAlias = NDArray[np.uint32] | tuple[NDArray[np.uint32], SelectedAtoms, NDArray[np.uint32]]
_Residues: TypeAlias = tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint32]]
_Part: TypeAlias = tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint32], NDArray[np.float64]]
_Interaction: TypeAlias = tuple[int, str, Sequence[float], _Part, _Part, bool]
_Sites: TypeAlias = tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint32]]
_Group: TypeAlias = tuple[NDArray[np.uint32], NDArray[np.float64], NDArray[np.float64] | None]

@final
class Computation:
    @property
    def n_columns(self) -> int: ...
    @property
    def arguments(self) -> tuple[Any, ...]: ...

@final
class FrameSelection:
    def __new__(cls, n_atoms: int, tree: tuple[Any, ...]) -> FrameSelection: ...
    @property
    def n_atoms(self) -> int: ...
    @property
    def needed(self) -> NDArray[np.uint32]: ...
    @property
    def possible(self) -> NDArray[np.uint32]: ...
    def among(self, atoms: NDArray[np.uint32]) -> SelectedAtoms: ...

@final
class SelectedAtoms:
    def __new__(cls, selection: FrameSelection, atoms: NDArray[np.uint32]) -> SelectedAtoms: ...
    def find(self, positions: NDArray[np.float32], dimensions: NDArray[np.float32] | None) -> NDArray[np.uint32]: ...

def changing_gyration(n_atoms: int, group: _Members, weights: NDArray[np.float64]) -> Computation: ...
def changing_linear_density(
    n_atoms: int,
    group: _Members,
    masses: NDArray[np.float64],
    charges: NDArray[np.float64],
    labels: NDArray[np.uint32] | None,
    edges: NDArray[np.float64],
    per_volume: Sequence[float],
) -> Computation: ...
def changing_surface_area(
    n_atoms: int,
    group: _Members,
    places: NDArray[np.uint32],
    radii: NDArray[np.float64],
    probe: float,
    n_points: int,
    measured: NDArray[np.uint32],
    is_periodic: bool,
    keep: str,
    is_alone: bool,
) -> Computation: ...
def contact_count(
    n_atoms: int,
    first: _Members,
    second: _Members,
    radius: float,
    is_periodic: bool | None,
    is_unique: bool,
) -> Computation: ...
def covariance(reference: NDArray[np.float64], fitted: _Group | None) -> Computation: ...
def cross_correlation(reference: NDArray[np.float64], fitted: _Group | None) -> Computation: ...
def density(
    n_atoms: int, group: _Members, x: NDArray[np.float64], y: NDArray[np.float64], z: NDArray[np.float64]
) -> Computation: ...
def dihedrals(n_atoms: int, quadruples: NDArray[np.uint32], as_cosine_sine: bool) -> Computation: ...
def distances(
    n_atoms: int,
    first: NDArray[np.uint32],
    second: NDArray[np.uint32] | NDArray[np.float64],
    is_periodic: bool | None,
    cutoff: float | None,
) -> Computation: ...
def end_to_end(n_atoms: int, ends: NDArray[np.uint32]) -> Computation: ...
def fluctuation(reference: NDArray[np.float64]) -> Computation: ...
def fold(fold: Any, n_atoms: int, places: NDArray[np.uint32] | Sequence[_Members]) -> Computation: ...
def function(
    function: Callable[..., NDArray[np.float64]],
    n_atoms: int,
    places: NDArray[np.uint32] | Sequence[_Members],
    n_columns: int,
    is_summed: bool,
) -> Computation: ...
def group_rmsd(n_atoms: int, fitted: _Group | None, groups: Sequence[_Group]) -> Computation: ...
def gyration(n_atoms: int, weights: NDArray[np.float64] | None) -> Computation: ...
def helix_eigenvalues(
    n_atoms: int, segments: Sequence[NDArray[np.uint32]], of_pairs: bool, is_squared: bool
) -> Computation: ...
def hydrogen_bonds(
    n_atoms: int,
    donors: _Members,
    hydrogens: NDArray[np.uint32],
    acceptors: _Members,
    masks: tuple[NDArray[np.uint64], NDArray[np.uint64]] | None,
    distance: float,
    angle: float,
) -> Computation: ...
def interaction_fingerprint(
    n_atoms: int,
    interactions: Sequence[_Interaction],
    is_periodic: bool | None,
    is_once: bool,
    keeps_occurrences: bool,
    bridges: tuple[int, tuple[int, int], Sequence[_Interaction]] | None,
) -> Computation: ...
def kept_positions(n_atoms: int) -> Computation: ...
def linear_density(
    masses: NDArray[np.float64],
    charges: NDArray[np.float64],
    labels: NDArray[np.uint32] | None,
    edges: NDArray[np.float64],
    per_volume: Sequence[float],
) -> Computation: ...
def native_contacts(
    n_atoms: int,
    references: Sequence[tuple[NDArray[np.uint32], NDArray[np.float64]]],
    measure: Sequence[float],
    is_periodic: bool | None,
) -> Computation: ...
def online_clusters(n_atoms: int, weights: NDArray[np.float64] | None, cutoff: float) -> Computation: ...
def projection(origin: NDArray[np.float64], directions: NDArray[np.float64], fitted: _Group | None) -> Computation: ...
def radial_distribution(
    n_atoms: int,
    first: _Members,
    second: _Members,
    edges: NDArray[np.float64],
    labels: tuple[NDArray[np.uint32], NDArray[np.uint32]] | None,
    needs_cell: bool,
) -> Computation: ...
def repeated(computation: Computation, n_times: int) -> Computation: ...
def residue_contacts(
    n_atoms: int,
    first: _Residues,
    second: _Residues | None,
    positions: NDArray[np.int64],
    separation: int,
    pairs: NDArray[np.uint32] | None,
    cutoff: float,
    is_periodic: bool | None,
    keeps_series: bool,
    beta: float | None = None,
) -> Computation: ...
def rmsd(reference: NDArray[np.float64], weights: NDArray[np.float64] | None, superposition: bool) -> Computation: ...
def secondary_structure(
    n_atoms: int,
    residues: tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.bool_]],
    hydrogens: NDArray[np.uint32] | None,
    is_simplified: bool,
    longest_bond: float | None,
    is_periodic: bool,
) -> Computation: ...
def selected(atoms: SelectedAtoms, keeps_ids: bool) -> Computation: ...
def selected_vectors(n_atoms: int, group: _Members, others: NDArray[np.uint32]) -> Computation: ...
def site_distribution(
    n_atoms: int, pairs: NDArray[np.uint32], edges: NDArray[np.float64], needs_cell: bool
) -> Computation: ...
def superposed_fluctuation(
    n_atoms: int, fitted: _Group, atoms: NDArray[np.uint32], reference: NDArray[np.float64]
) -> Computation: ...
def surface_area(
    radii: NDArray[np.float64],
    probe: float,
    n_points: int,
    measured: NDArray[np.uint32],
    is_periodic: bool,
    keep: str,
) -> Computation: ...
def water_bridges(
    n_atoms: int,
    sites: _Sites,
    groups: tuple[_Members, _Members, _Members],
    criteria: tuple[float, bool, float],
    order: int,
    roles: tuple[bool, bool],
    is_periodic: bool | None,
) -> Computation: ...
def contacts_of(
    first: NDArray[np.float64],
    second: NDArray[np.float64],
    dimensions: NDArray[np.float32] | None,
    radius: float,
) -> tuple[NDArray[np.uint32], NDArray[np.float64]]: ...
def distance_matrix(
    positions: NDArray[np.float32],
    weights: NDArray[np.float64] | None,
    superposition: bool,
    n_workers: int,
    monitor: Callable[[int], object] | None = None,
) -> NDArray[np.float64]: ...
def density_clusters(
    frames: NDArray[np.float32],
    n_atoms: int,
    weights: NDArray[np.float64] | None,
    cutoff: float,
    min_frames: int,
    most_pairs: int,
    n_workers: int,
    monitor: Callable[[int], object] | None = None,
) -> NDArray[np.uint32]: ...
def frame_distances(
    frames: NDArray[np.float32],
    n_atoms: int,
    weights: NDArray[np.float64] | None,
    references: NDArray[np.uint32],
    n_workers: int,
    monitor: Callable[[int], object] | None = None,
) -> NDArray[np.float64]: ...
def frame_linkage(
    frames: NDArray[np.float32],
    n_atoms: int,
    weights: NDArray[np.float64] | None,
    method: str,
    n_workers: int,
    monitor: Callable[[int], object] | None = None,
) -> NDArray[np.float64]: ...
def gromos_clusters(
    frames: NDArray[np.float32],
    n_atoms: int,
    weights: NDArray[np.float64] | None,
    cutoff: float,
    most_pairs: int,
    n_workers: int,
    monitor: Callable[[int], object] | None = None,
) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]: ...
def local_distances(reference: NDArray[np.float64], residues: NDArray[np.uint32], radius: float) -> Computation: ...
def mean_square_displacements(
    frames: NDArray[np.float32],
    n_atoms: int,
    first: int,
    end: int,
    axes: Sequence[int],
    scheme: str | None,
    n_lags: int,
    length: int | None,
) -> NDArray[np.float64]: ...
def medoids(
    frames: NDArray[np.float32],
    n_atoms: int,
    weights: NDArray[np.float64] | None,
    labels: NDArray[np.uint32],
    n_clusters: int,
    n_workers: int,
    monitor: Callable[[int], object] | None = None,
) -> NDArray[np.uint32]: ...
def nearest_centers(
    rows: NDArray[np.float32] | NDArray[np.float64],
    centers: NDArray[np.float64],
    n_workers: int,
    monitor: Callable[[int], object] | None = None,
) -> tuple[NDArray[np.uint32], NDArray[np.float64], NDArray[np.float64]]: ...
def paths(
    frames: NDArray[np.float32], n_atoms: int, first: int, end: int, scheme: str | None
) -> NDArray[np.float64]: ...
def superposed_rows(
    frames: NDArray[np.float32],
    n_atoms: int,
    weights: NDArray[np.float64] | None,
    reference: NDArray[np.float64],
    n_workers: int,
    monitor: Callable[[int], object] | None = None,
) -> NDArray[np.float32]: ...
def symmetric_rmsd(references: NDArray[np.float64], superposition: bool) -> Computation: ...
def template_scores(
    n_atoms: int, atoms: NDArray[np.uint32], reference: NDArray[np.float64], n_residues: int
) -> Computation: ...
