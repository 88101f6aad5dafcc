//! Repetition of a computation.

use mdreel_core::kernel::repeated::Repeated;
use pyo3::prelude::*;

use crate::computation::Computation;

/// Create a computation that runs another one `n_times` times on the same frames, and keeps the values of the last time.
#[pyfunction]
pub(crate) fn repeated(py: Python<'_>, computation: Py<Computation>, n_times: usize) -> PyResult<Computation> {
    let repeated = Repeated::new(computation.get().computation.another(), n_times);
    Computation::new(py, repeated, "repeated", (computation, n_times))
}
