//! Measures of the position of a group: RMSD, fluctuation, and gyration.

use mdreel_core::kernel::fluctuation::Fluctuation;
use mdreel_core::kernel::gyration::{ChangingGyration, Gyration};
use mdreel_core::kernel::rmsd::Rmsd;
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use super::{copied, points};
use crate::computation::Computation;
use crate::selection::Members;

/// Create the computation of the RMSD of each frame from `reference`, in Å. The reference has the shape (n_atoms, 3), Å.
#[pyfunction]
#[pyo3(signature = (reference, weights, superposition))]
pub(crate) fn rmsd<'py>(
    py: Python<'py>,
    reference: PyReadonlyArray2<'py, f64>,
    weights: Option<PyReadonlyArray1<'py, f64>>,
    superposition: bool,
) -> PyResult<Computation> {
    let (rows, given) = (points(&reference)?, weights.as_ref().map(|weights| weights.as_array().to_vec()));
    let computation = py.detach(|| Rmsd::new(&rows, given.as_deref(), superposition));
    let arguments = (copied(reference), weights.map(copied), superposition);
    Computation::new(py, computation, "rmsd", arguments)
}

/// Create the computation of four sums over frames for each atom: its displacement (x, y, z) in Å, and the square of it in Å².
///
/// The displacement is the one from `reference`, shape (n_atoms, 3), Å.
#[pyfunction]
pub(crate) fn fluctuation<'py>(py: Python<'py>, reference: PyReadonlyArray2<'py, f64>) -> PyResult<Computation> {
    let computation = Fluctuation::new(&points(&reference)?);
    Computation::new(py, computation, "fluctuation", (copied(reference),))
}

/// Create the computation of the radius of gyration of each frame, and of the radii about the axes x, y and z, in Å.
#[pyfunction]
#[pyo3(signature = (n_atoms, weights))]
pub(crate) fn gyration<'py>(
    py: Python<'py>,
    n_atoms: usize,
    weights: Option<PyReadonlyArray1<'py, f64>>,
) -> PyResult<Computation> {
    let given = weights.as_ref().map(|weights| weights.as_array().to_vec());
    let computation = Gyration::new(n_atoms, given.as_deref());
    Computation::new(py, computation, "gyration", (n_atoms, weights.map(copied)))
}

/// Create the computation of `gyration` for a group among `n_atoms` atoms that is selected again in each frame.
///
/// The values are NaN in frames in which no atom is selected.
#[pyfunction]
pub(crate) fn changing_gyration<'py>(
    py: Python<'py>,
    n_atoms: usize,
    group: Members<'py>,
    weights: PyReadonlyArray1<'py, f64>,
) -> PyResult<Computation> {
    let given = weights.as_array().to_vec();
    let computation = group.group().and_then(|group| ChangingGyration::new(n_atoms, group, given));
    Computation::new(py, computation, "changing_gyration", (n_atoms, group.copied(py)?, copied(weights)))
}
