//! Kernels.

use std::sync::Arc;

use mdreel_core::kernel::rmsd::Rmsd;
use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::error::to_python;

/// The RMSD of each frame to a reference.
#[pyclass(frozen, module = "mdreel._core")]
pub struct RmsdKernel(pub Arc<Rmsd>);

#[pymethods]
impl RmsdKernel {
    #[new]
    #[pyo3(signature = (reference, weights, superposition))]
    fn new(
        py: Python<'_>,
        reference: PyReadonlyArray2<'_, f64>,
        weights: Option<PyReadonlyArray1<'_, f64>>,
        superposition: bool,
    ) -> PyResult<Self> {
        let rows = rows(&reference)?;
        let weights: Option<Vec<f64>> = weights.map(|weights| weights.as_array().to_vec());
        let kernel = py.detach(|| Rmsd::new(&rows, weights.as_deref(), superposition));
        kernel.map(|kernel| RmsdKernel(Arc::new(kernel))).map_err(|error| to_python(py, error))
    }
}

fn rows(reference: &PyReadonlyArray2<'_, f64>) -> PyResult<Vec<[f64; 3]>> {
    let array = reference.as_array();
    if array.ncols() != 3 {
        let message = format!("positions need 3 columns, got {}", array.ncols());
        return Err(to_python(reference.py(), mdreel_core::Error::Mismatch(message)));
    }
    Ok(array.rows().into_iter().map(|row| [row[0], row[1], row[2]]).collect())
}
