//! Clusters of frames.

use mdreel_core::clustering as core;
use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::kernels::motion::rows_of;
use crate::pool::{Attendant, attended};

/// Label of each frame, and the frame in the centre of each cluster, by the GROMOS method, of frames as `kept_positions` keeps them.
///
/// Neighbours have a minimum RMSD of at most `cutoff`, Å. The neighbours of at most `most_pairs` pairs are kept in memory. `monitor`
/// is called about every 50 ms with the number of frames done; what it raises stops the work.
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
