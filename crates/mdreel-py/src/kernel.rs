//! Kernels.

use std::sync::Arc;

use mdreel_core::kernel::rmsd::Rmsd;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::error::to_python;

/// The RMSD of each frame to a reference.
#[pyclass(frozen, module = "mdreel._core")]
pub struct RmsdKernel(pub Arc<Rmsd>, Arguments);

/// What a kernel was made of: reference, weights, whether it superimposes. A pickled one is made again.
type Arguments = (Py<PyArray2<f64>>, Option<Py<PyArray1<f64>>>, bool);

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
        let kernel = kernel.map_err(|error| to_python(py, error))?;
        let reference = reference.as_array().to_owned().into_pyarray(py).unbind();
        let weights = weights.map(|weights| weights.into_pyarray(py).unbind());
        Ok(RmsdKernel(Arc::new(kernel), (reference, weights, superposition)))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let (reference, weights, superposition) = &self.1;
        let weights = weights.as_ref().map(|weights| weights.bind(py));
        let arguments = (reference.bind(py), weights, *superposition).into_pyobject(py)?;
        Ok((py.get_type::<Self>().into_any(), arguments.into_any()))
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
