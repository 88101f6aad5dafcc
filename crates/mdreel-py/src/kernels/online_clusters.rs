//! Online clusters of frames.

use mdreel_core::kernel::online_clusters::{OnlineAssignment, OnlineClusters};
use numpy::{IntoPyArray, PyReadonlyArray1};
use pyo3::prelude::*;

use super::copied;
use crate::computation::Computation;

/// Create the computation of online clusters of frames.
///
/// Each frame joins the nearest leader whose minimum RMSD is at most `cutoff` (Å), or becomes the leader of a new cluster. The
/// computation's own value consists of three arrays: the cluster of each frame, shape (n_frames,), the number of each leader among
/// the frames, shape (n_clusters,), and the positions of the leaders, shape (3 n_clusters n_atoms,), Å.
#[pyfunction]
#[pyo3(signature = (n_atoms, weights, cutoff))]
pub(crate) fn online_clusters<'py>(
    py: Python<'py>,
    n_atoms: usize,
    weights: Option<PyReadonlyArray1<'py, f64>>,
    cutoff: f64,
) -> PyResult<Computation> {
    let given = weights.as_ref().map(|weights| weights.as_array().to_vec());
    let computation = OnlineClusters::new(n_atoms, given.as_deref(), cutoff);
    Computation::new(py, computation, "online_clusters", (n_atoms, weights.map(copied), cutoff))
}

/// Converts the clusters to arrays.
pub(crate) fn arrays<'py>(py: Python<'py>, assignment: &mut OnlineAssignment) -> PyResult<Bound<'py, PyAny>> {
    let (labels, places, positions) = py.detach(|| assignment.take());
    let found = (labels.into_pyarray(py), places.into_pyarray(py), positions.into_pyarray(py));
    Ok(found.into_pyobject(py)?.into_any())
}
