//! Steps of methods that cluster frames by their distances from a few centers.

use mdreel_core::clustering as core;
use mdreel_core::{Error, Result};
use numpy::ndarray::{Array2, ArrayView2};
use numpy::{Element, IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::kernels::motion::rows_of;
use crate::pool::{Attendant, attended};

/// Rows of single or double precision numbers.
#[derive(FromPyObject)]
pub(crate) enum Rows<'py> {
    Single(PyReadonlyArray2<'py, f32>),
    Double(PyReadonlyArray2<'py, f64>),
}

/// Return the nearest center of each row, the square of its distance, and the sum of the rows of each center.
///
/// The arrays are uint32 of shape (n_rows,), float64 of shape (n_rows,), and float64 of shape (n_centers, n_values). The
/// function uses the first n_values numbers of each row, where n_values is the number of columns of `centers`. It calls
/// `monitor` about every 50 ms with the number of finished rows. An exception that `monitor` raises stops the work.
#[pyfunction]
#[pyo3(signature = (rows, centers, n_workers, monitor=None))]
#[expect(clippy::type_complexity, reason = "three arrays")]
pub(crate) fn nearest_centers<'py>(
    py: Python<'py>,
    rows: Rows<'py>,
    centers: PyReadonlyArray2<'py, f64>,
    n_workers: usize,
    monitor: Option<Py<PyAny>>,
) -> PyResult<(Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray2<f64>>)> {
    let (shape, centers) = (centers.as_array().dim(), centers.as_array().iter().copied().collect::<Vec<f64>>());
    let core::Assignment { labels, squares, sums } = match &rows {
        Rows::Single(rows) => assigned(py, rows.as_array(), &centers, shape.1, n_workers, monitor)?,
        Rows::Double(rows) => assigned(py, rows.as_array(), &centers, shape.1, n_workers, monitor)?,
    };
    let sums = matrix(py, sums, shape)?;
    Ok((PyArray1::from_vec(py, labels), PyArray1::from_vec(py, squares), sums))
}

fn assigned<T: core::Number + Element>(
    py: Python<'_>,
    rows: ArrayView2<'_, T>,
    centers: &[f64],
    n_values: usize,
    n_workers: usize,
    monitor: Option<Py<PyAny>>,
) -> PyResult<core::Assignment> {
    let work = |monitor: &mut Attendant| core::nearest_centres(&rows_of(&rows)?, n_values, centers, n_workers, monitor);
    attended(py, monitor, work)
}

/// Return the positions of frames after superposition on a reference, shape (n_frames, 3 * n_atoms), float32.
///
/// The rows of `frames` are those of `kept_positions`. The positions are in Å and relative to the center of `reference`, shape
/// (n_atoms, 3), Å. Each position is multiplied by the square root of the atom's fraction of the total weight. `monitor` is
/// called as for `nearest_centers`.
#[pyfunction]
#[pyo3(signature = (frames, n_atoms, weights, reference, n_workers, monitor=None))]
pub(crate) fn superposed_rows<'py>(
    py: Python<'py>,
    frames: PyReadonlyArray2<'py, f32>,
    n_atoms: usize,
    weights: Option<PyReadonlyArray1<'py, f64>>,
    reference: PyReadonlyArray2<'py, f64>,
    n_workers: usize,
    monitor: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyArray2<f32>>> {
    let frames = frames.as_array();
    let given = weights.map(|weights| weights.as_array().to_vec());
    let reference = reference.as_array();
    let work = |monitor: &mut Attendant| {
        if reference.ncols() != 3 {
            return Err(Error::mismatch(format!("a reference has 3 columns, not {}", reference.ncols())));
        }
        let points: Vec<[f64; 3]> = reference.outer_iter().map(|row| [row[0], row[1], row[2]]).collect();
        core::superposed_rows(&rows_of(&frames)?, n_atoms, given.as_deref(), &points, n_workers, monitor)
    };
    let found = attended(py, monitor, work)?;
    matrix(py, found, (frames.nrows(), 3 * n_atoms))
}

/// Return the minimum RMSD of each frame from each reference, shape (n_references, n_frames), Å.
///
/// The rows of `frames` are those of `kept_positions`. `references` contains frame numbers. The RMSD of a reference from itself
/// is 0. `monitor` is called as for `nearest_centers`.
#[pyfunction]
#[pyo3(signature = (frames, n_atoms, weights, references, n_workers, monitor=None))]
pub(crate) fn frame_distances<'py>(
    py: Python<'py>,
    frames: PyReadonlyArray2<'py, f32>,
    n_atoms: usize,
    weights: Option<PyReadonlyArray1<'py, f64>>,
    references: PyReadonlyArray1<'py, u32>,
    n_workers: usize,
    monitor: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let (frames, references) = (frames.as_array(), references.as_array().to_vec());
    let given = weights.map(|weights| weights.as_array().to_vec());
    let work = |monitor: &mut Attendant| {
        core::frame_distances(&rows_of(&frames)?, n_atoms, given.as_deref(), &references, n_workers, monitor)
    };
    let found = attended(py, monitor, work)?;
    matrix(py, found, (references.len(), frames.nrows()))
}

fn matrix<T: Element>(py: Python<'_>, values: Vec<T>, shape: (usize, usize)) -> PyResult<Bound<'_, PyArray2<T>>> {
    let made: Result<Array2<T>> =
        Array2::from_shape_vec(shape, values).map_err(|error| Error::mismatch(error.to_string()));
    Ok(made.map_err(|error| crate::error::to_python(py, error))?.into_pyarray(py))
}
