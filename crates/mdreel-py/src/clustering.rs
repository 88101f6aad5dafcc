//! Clusters of frames.

use mdreel_core::Error;
use mdreel_core::clustering as core;
use mdreel_core::pairs::{self, Linkage, Merge};
use numpy::ndarray::Array2;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::error::to_python;
use crate::kernels::motion::rows_of;
use crate::pool::{Attendant, attended};

/// Label of each frame, and the frame in the centre of each cluster, by the GROMOS method, of frames as `kept_positions` keeps them.
///
/// Neighbours have a minimum RMSD of at most `cutoff`, Å. The neighbours of at most `most_pairs` pairs are kept in memory.
/// `monitor` is called about every 50 ms with the number of finished frames; an exception that it raises stops the work.
#[pyfunction]
#[pyo3(signature = (frames, n_atoms, weights, cutoff, most_pairs, n_workers, monitor=None))]
#[expect(clippy::too_many_arguments, reason = "Python gives each by name")]
#[expect(clippy::type_complexity, reason = "two arrays")]
pub(crate) fn gromos_clusters<'py>(
    py: Python<'py>,
    frames: PyReadonlyArray2<'py, f32>,
    n_atoms: usize,
    weights: Option<PyReadonlyArray1<'py, f64>>,
    cutoff: f64,
    most_pairs: usize,
    n_workers: usize,
    monitor: Option<Py<PyAny>>,
) -> PyResult<(Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<u32>>)> {
    let frames = frames.as_array();
    let given = weights.map(|weights| weights.as_array().to_vec());
    let work = |monitor: &mut Attendant| {
        let rows = rows_of(&frames)?;
        core::gromos(&rows, n_atoms, given.as_deref(), cutoff, most_pairs, n_workers, monitor)
    };
    let core::Clusters { labels, centers } = attended(py, monitor, work)?;
    Ok((PyArray1::from_vec(py, labels), PyArray1::from_vec(py, centers)))
}

/// Label of each frame by the DBSCAN method, or 2^32 - 1, of frames as `kept_positions` keeps them.
///
/// Frames in the core of a cluster have at least `min_frames` neighbours, themselves included. See `gromos_clusters` for the rest.
#[pyfunction]
#[pyo3(signature = (frames, n_atoms, weights, cutoff, min_frames, most_pairs, n_workers, monitor=None))]
#[expect(clippy::too_many_arguments, reason = "Python gives each by name")]
pub(crate) fn density_clusters<'py>(
    py: Python<'py>,
    frames: PyReadonlyArray2<'py, f32>,
    n_atoms: usize,
    weights: Option<PyReadonlyArray1<'py, f64>>,
    cutoff: f64,
    min_frames: u32,
    most_pairs: usize,
    n_workers: usize,
    monitor: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyArray1<u32>>> {
    let frames = frames.as_array();
    let given = weights.map(|weights| weights.as_array().to_vec());
    let work = |monitor: &mut Attendant| {
        let rows = rows_of(&frames)?;
        core::dbscan(&rows, n_atoms, given.as_deref(), cutoff, min_frames, most_pairs, n_workers, monitor)
    };
    Ok(PyArray1::from_vec(py, attended(py, monitor, work)?))
}

/// Merges of frames as `kept_positions` keeps them, shape (n_frames - 1, 4): two clusters, their distance, Å, and the number of
/// frames in both, by ascending distance. The first n_frames clusters are the frames; each merge adds one.
#[pyfunction]
#[pyo3(signature = (frames, n_atoms, weights, method, n_workers, monitor=None))]
pub(crate) fn frame_linkage<'py>(
    py: Python<'py>,
    frames: PyReadonlyArray2<'py, f32>,
    n_atoms: usize,
    weights: Option<PyReadonlyArray1<'py, f64>>,
    method: &str,
    n_workers: usize,
    monitor: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let method = match method {
        "single" => Linkage::Single,
        "complete" => Linkage::Complete,
        "average" => Linkage::Average,
        _ => {
            let message = format!("unknown linkage '{method}': expected single, complete or average");
            return Err(to_python(py, Error::mismatch(message)));
        }
    };
    let frames = frames.as_array();
    let given = weights.map(|weights| weights.as_array().to_vec());
    let work = |monitor: &mut Attendant| {
        let rows = rows_of(&frames)?;
        pairs::linkage(&rows, n_atoms, given.as_deref(), method, n_workers, monitor)
    };
    let merges = attended(py, monitor, work)?;
    let value = |(i, column): (usize, usize)| {
        let Merge { clusters: [first, second], distance, size } = merges[i];
        [f64::from(first), f64::from(second), distance, f64::from(size)][column]
    };
    Ok(Array2::from_shape_fn((merges.len(), 4), value).into_pyarray(py))
}

/// The frame of each cluster with the smallest sum of RMSDs from the others, of frames as `kept_positions` keeps them. Frames whose
/// label is not below `n_clusters` are in no cluster.
#[pyfunction]
#[pyo3(signature = (frames, n_atoms, weights, labels, n_clusters, n_workers, monitor=None))]
#[expect(clippy::too_many_arguments, reason = "Python gives each by name")]
pub(crate) fn medoids<'py>(
    py: Python<'py>,
    frames: PyReadonlyArray2<'py, f32>,
    n_atoms: usize,
    weights: Option<PyReadonlyArray1<'py, f64>>,
    labels: PyReadonlyArray1<'py, u32>,
    n_clusters: usize,
    n_workers: usize,
    monitor: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyArray1<u32>>> {
    let (frames, labels) = (frames.as_array(), labels.as_array().to_vec());
    let given = weights.map(|weights| weights.as_array().to_vec());
    let work = |monitor: &mut Attendant| {
        let rows = rows_of(&frames)?;
        pairs::medoids(&rows, n_atoms, given.as_deref(), &labels, n_clusters, n_workers, monitor)
    };
    Ok(PyArray1::from_vec(py, attended(py, monitor, work)?))
}
