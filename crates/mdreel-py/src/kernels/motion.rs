//! Motion and distribution of atoms: positions of all frames, paths, displacements, densities, and ends of chains.

use mdreel_core::kernel::bins::Bins;
use mdreel_core::kernel::density::Density;
use mdreel_core::kernel::displacement::Displacements;
use mdreel_core::kernel::end_to_end::EndToEnd;
use mdreel_core::kernel::linear_density::LinearDensity;
use mdreel_core::kernel::positions::{self, Positions};
use mdreel_core::kernel::selected_vectors::SelectedVectors;
use mdreel_core::transform::Scheme;
use mdreel_core::{Error, Result};
use numpy::ndarray::{Array2, Array3, ArrayView2};
use numpy::{IntoPyArray, PyArray2, PyArray3, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use super::{copied, rows};
use crate::computation::Computation;
use crate::error::to_python;
use crate::selection::Members;

/// The number of atoms whose paths are computed at a time. It is large enough to use complete cache lines, and small enough for
/// the cache.
const ATOMS_AT_A_TIME: usize = 16;

/// Create the computation that keeps the positions and the cell of each frame unchanged, two float32 in each value.
///
/// The numbers are x, y and z of one atom after another (Å), followed by the lengths (Å) and angles (degrees) of the cell, or
/// zeros for no cell.
#[pyfunction]
pub(crate) fn kept_positions(py: Python<'_>, n_atoms: usize) -> PyResult<Computation> {
    Computation::new(py, Positions::new(n_atoms), "kept_positions", (n_atoms,))
}

/// Return the paths of the atoms from `first` to before `end`, shape (end - first, 3, n_frames), float64, Å.
///
/// `frames` has the shape (n_frames, n_numbers), float32, with rows as `kept_positions` keeps them. With a scheme (`lattice` or
/// `toroidal`), the function removes jumps across periodic boundaries.
#[pyfunction]
#[pyo3(signature = (frames, n_atoms, first, end, scheme))]
pub(crate) fn paths<'py>(
    py: Python<'py>,
    frames: PyReadonlyArray2<'py, f32>,
    n_atoms: usize,
    first: usize,
    end: usize,
    scheme: Option<&str>,
) -> PyResult<Bound<'py, PyArray3<f64>>> {
    let frames = frames.as_array();
    let found = py.detach(|| -> Result<Array3<f64>> {
        let rows = rows_of(&frames)?;
        let values = positions::paths(&rows, n_atoms, first..end, scheme.map(Scheme::from_name).transpose()?)?;
        let shape = (end - first, 3, rows.len());
        Array3::from_shape_vec(shape, values).map_err(|error| Error::mismatch(error.to_string()))
    });
    Ok(found.map_err(|error| to_python(py, error))?.into_pyarray(py))
}

/// Return the mean square displacements of the atoms from `first` to before `end` along `axes`, shape (end - first, n_lags), Å².
///
/// The rows of `frames` are those of `kept_positions`. With a scheme (`lattice` or `toroidal`), the function removes jumps across
/// periodic boundaries. It uses Fourier transforms of `length` numbers, or compares pairs of frames if `length` is None.
#[pyfunction]
#[pyo3(signature = (frames, n_atoms, first, end, axes, scheme, n_lags, length))]
#[expect(clippy::too_many_arguments, reason = "Python gives each by name")]
pub(crate) fn mean_square_displacements<'py>(
    py: Python<'py>,
    frames: PyReadonlyArray2<'py, f32>,
    n_atoms: usize,
    first: usize,
    end: usize,
    axes: Vec<usize>,
    scheme: Option<&str>,
    n_lags: usize,
    length: Option<usize>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let frames = frames.as_array();
    let found = py.detach(|| -> Result<Array2<f64>> {
        let rows = rows_of(&frames)?;
        let scheme = scheme.map(Scheme::from_name).transpose()?;
        let mut found = Array2::zeros((end.saturating_sub(first), n_lags));
        let atoms = (first..end).step_by(ATOMS_AT_A_TIME).map(|atom| atom..end.min(atom + ATOMS_AT_A_TIME));
        let places = found.as_slice_mut().unwrap_or_default().chunks_mut(ATOMS_AT_A_TIME * n_lags.max(1));
        let mut displacements = Displacements::new(&axes, n_lags, length)?;
        for (atoms, out) in atoms.zip(places) {
            displacements.of(&positions::paths(&rows, n_atoms, atoms, scheme)?, rows.len(), out)?;
        }
        Ok(found)
    });
    Ok(found.map_err(|error| to_python(py, error))?.into_pyarray(py))
}

/// Returns the rows of frames as `kept_positions` keeps them.
pub(crate) fn rows_of<'a, T>(frames: &'a ArrayView2<'_, T>) -> Result<Vec<&'a [T]>> {
    let rows: Option<Vec<&[T]>> = frames.outer_iter().map(|row| row.to_slice()).collect();
    rows.ok_or_else(|| Error::mismatch("the numbers of a frame must lie side by side"))
}

/// Create the computation of the number of atoms of a group in each bin of a grid, over all frames.
///
/// The group is among `n_atoms` atoms. `x`, `y` and `z` are the edges of the bins, in Å. The last count is the number of all atoms
/// of the group, inside or outside the grid.
#[pyfunction]
pub(crate) fn density<'py>(
    py: Python<'py>,
    n_atoms: usize,
    group: Members<'py>,
    x: PyReadonlyArray1<'py, f64>,
    y: PyReadonlyArray1<'py, f64>,
    z: PyReadonlyArray1<'py, f64>,
) -> PyResult<Computation> {
    let edges = [&x, &y, &z].map(|edges| edges.as_array().to_vec());
    let computation = group.group().and_then(|group| Density::new(n_atoms, group, edges));
    Computation::new(py, computation, "density", (n_atoms, group.copied(py)?, copied(x), copied(y), copied(z)))
}

/// Create the computation of the vector from the first to the last atom of each chain, and of its length, in Å.
///
/// `ends` contains both atoms of each chain among `n_atoms` atoms, shape (n_chains, 2).
#[pyfunction]
pub(crate) fn end_to_end<'py>(
    py: Python<'py>,
    n_atoms: usize,
    ends: PyReadonlyArray2<'py, u32>,
) -> PyResult<Computation> {
    let rows = ends.as_array();
    if rows.ncols() != 2 {
        let message = format!("a chain has 2 ends, got {}", rows.ncols());
        return Err(to_python(py, Error::mismatch(message)));
    }
    let given = rows.rows().into_iter().map(|row| [row[0], row[1]]).collect();
    Computation::new(py, EndToEnd::new(n_atoms, given), "end_to_end", (n_atoms, copied(ends)))
}

/// Create the computation of the densities of mass and charge in slabs perpendicular to x, y and z, summed over all frames.
///
/// Each slab has four sums: the mass density, its square, the charge density, and its square. `edges` are the edges of the slabs,
/// in Å. Atoms are counted at their positions. With `labels`, atoms with the same label are counted together at their centre of
/// mass. The mass and the charge in a slab are multiplied by the `per_volume` of its axis.
#[pyfunction]
#[pyo3(signature = (masses, charges, labels, edges, per_volume))]
pub(crate) fn linear_density<'py>(
    py: Python<'py>,
    masses: PyReadonlyArray1<'py, f64>,
    charges: PyReadonlyArray1<'py, f64>,
    labels: Option<PyReadonlyArray1<'py, u32>>,
    edges: PyReadonlyArray1<'py, f64>,
    per_volume: [f64; 3],
) -> PyResult<Computation> {
    let vector = |array: &PyReadonlyArray1<'py, f64>| array.as_array().to_vec();
    let given = labels.as_ref().map(|labels| labels.as_array().to_vec());
    let computation = Bins::new(&vector(&edges))
        .and_then(|bins| LinearDensity::new(&vector(&masses), &vector(&charges), given.as_deref(), bins, per_volume));
    let arguments = (copied(masses), copied(charges), labels.map(copied), copied(edges), per_volume);
    Computation::new(py, computation, "linear_density", arguments)
}

/// Create the computation of `linear_density` for a group among `n_atoms` atoms that is selected again in each frame.
///
/// `masses`, `charges` and `labels` contain one entry for each number of the group.
#[pyfunction]
#[pyo3(signature = (n_atoms, group, masses, charges, labels, edges, per_volume))]
#[expect(clippy::too_many_arguments, reason = "Python names them")]
pub(crate) fn changing_linear_density<'py>(
    py: Python<'py>,
    n_atoms: usize,
    group: Members<'py>,
    masses: PyReadonlyArray1<'py, f64>,
    charges: PyReadonlyArray1<'py, f64>,
    labels: Option<PyReadonlyArray1<'py, u32>>,
    edges: PyReadonlyArray1<'py, f64>,
    per_volume: [f64; 3],
) -> PyResult<Computation> {
    let vector = |array: &PyReadonlyArray1<'py, f64>| array.as_array().to_vec();
    let given = labels.as_ref().map(|labels| labels.as_array().to_vec());
    let amounts = [vector(&masses), vector(&charges)];
    let computation = Bins::new(&vector(&edges)).and_then(|bins| {
        let amounts = amounts.each_ref().map(|values| &values[..]);
        LinearDensity::changing(n_atoms, group.group()?, amounts, given.as_deref(), bins, per_volume)
    });
    let (group, labels) = (group.copied(py)?, labels.map(copied));
    let arguments = (n_atoms, group, copied(masses), copied(charges), labels, copied(edges), per_volume);
    Computation::new(py, computation, "changing_linear_density", arguments)
}

/// Create the computation of the number of atoms that belong to `group` in each frame, and of their vectors to two other atoms.
///
/// The frames have `n_atoms` atoms, and `others` has the shape (n, 2). For each atom, the computation's own value contains its
/// number in the group as uint32, followed by the bits of six float32 for the vectors (Å).
#[pyfunction]
pub(crate) fn selected_vectors<'py>(
    py: Python<'py>,
    n_atoms: usize,
    group: Members<'py>,
    others: PyReadonlyArray2<'py, u32>,
) -> PyResult<Computation> {
    let pairs = rows(&others, "an atom has vectors to 2 others")?;
    let computation = group.group().and_then(|group| SelectedVectors::new(n_atoms, group, pairs));
    let group = group.copied(py)?;
    Computation::new(py, computation, "selected_vectors", (n_atoms, group, copied(others)))
}
