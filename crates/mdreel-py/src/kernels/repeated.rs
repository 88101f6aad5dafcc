//! Repetition of a computation.

use mdreel_core::kernel::repeated::Repeated;
use pyo3::prelude::*;

use crate::computation::Computation;

/// The computation, run `n_times` times on the same frames; the values of the last time are kept.
#[pyfunction]
pub(crate) fn repeated(py: Python<'_>, computation: Py<Computation>, n_times: usize) -> PyResult<Computation> {
    let repeated = Repeated::new(computation.get().computation.another(), n_times);
    Computation::new(py, repeated, "repeated", (computation, n_times))
}
