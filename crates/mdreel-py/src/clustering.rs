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

/// Cluster frames by the GROMOS method, and return the label of each frame and the central frame of each cluster.
///
/// Both arrays are uint32. The rows of `frames` are those of `kept_positions`. Neighbours are frames whose minimum RMSD is at
/// most `cutoff` (Å). The function keeps the neighbours of at most `most_pairs` pairs in memory. It calls `monitor` about every
/// 50 ms with the number of finished frames. An exception that `monitor` raises stops the work.
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

/// Cluster frames by the DBSCAN method, and return the label of each frame, uint32. Frames without a cluster have the label
/// 2^32 - 1.
///
/// A frame in the core of a cluster has at least `min_frames` neighbours, including itself. The other parameters are the same
/// as for `gromos_clusters`.
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

/// Return the merges of hierarchical clustering by ascending distance, shape (n_frames - 1, 4), float64.
///
/// Each row contains two clusters, their distance (Å), and the number of frames in both. The first n_frames clusters are the
/// single frames, and each merge adds one cluster. `method` is `single`, `complete` or `average`. The other parameters are the
/// same as for `gromos_clusters`.
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

/// Return the frame of each cluster with the smallest sum of RMSDs from the other frames of the cluster, shape (n_clusters,),
/// uint32.
///
/// `labels` contains the cluster of each frame. Frames whose label is not below `n_clusters` are in no cluster. The other
/// parameters are the same as for `gromos_clusters`.
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
