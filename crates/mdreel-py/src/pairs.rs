//! Pairs of frames.

use mdreel_core::pairs as core;
use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray3};
use pyo3::prelude::*;

use crate::pool::{Attendant, attended};

/// Return the RMSD of each pair of frames, shape (n_frames * n_frames,), float64, Å. The rows of the matrix follow one another.
///
/// `positions` has the shape (n_frames, n_atoms, 3), Å. With `superposition`, the frames of a pair are superposed first. The
/// function calls `monitor` about every 50 ms with the number of finished rows. An exception that `monitor` raises stops the
/// work.
#[pyfunction]
#[pyo3(signature = (positions, weights, superposition, n_workers, monitor=None))]
pub(crate) fn distance_matrix<'py>(
    py: Python<'py>,
    positions: PyReadonlyArray3<'py, f32>,
    weights: Option<PyReadonlyArray1<'py, f64>>,
    superposition: bool,
    n_workers: usize,
    monitor: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let array = positions.as_array();
    let (n_atoms, values): (usize, Vec<f32>) = (array.shape()[1], array.iter().copied().collect());
    let given = weights.map(|weights| weights.as_array().to_vec());
    let work = |monitor: &mut Attendant| {
        core::distance_matrix(&values, n_atoms, given.as_deref(), superposition, n_workers, monitor)
    };
    Ok(PyArray1::from_vec(py, attended(py, monitor, work)?))
}
