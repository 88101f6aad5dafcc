//! The computations that analyses perform on frames.

use mdreel_core::kernel::Computation as CoreComputation;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::error::to_python;

/// A computation that an analysis performs on each frame. Unpickling creates it again from its arguments.
#[pyclass(frozen, module = "mdreel._core")]
pub struct Computation {
    pub computation: Box<dyn CoreComputation>,
    maker: Py<PyAny>,
    arguments: Py<PyTuple>,
}

impl Computation {
    /// Creates a computation from the core's one. `maker` is the name of the function, and `arguments` the arguments, that create
    /// it again.
    pub fn new<'py>(
        py: Python<'py>,
        computation: mdreel_core::Result<impl CoreComputation + 'static>,
        maker: &str,
        arguments: impl IntoPyObject<'py, Target = PyTuple, Output = Bound<'py, PyTuple>, Error = PyErr>,
    ) -> PyResult<Self> {
        let computation = Box::new(computation.map_err(|error| to_python(py, error))?);
        let maker = py.import("mdreel._core")?.getattr(maker)?.unbind();
        Ok(Computation { computation, maker, arguments: arguments.into_pyobject(py)?.unbind() })
    }
}

#[pymethods]
impl Computation {
    /// Number of values that the computation returns for each frame.
    #[getter]
    fn n_columns(&self) -> usize {
        self.computation.layout().n_columns
    }

    /// Arguments with which the computation was created.
    #[getter]
    fn arguments<'py>(&self, py: Python<'py>) -> Bound<'py, PyTuple> {
        self.arguments.bind(py).clone()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> (Bound<'py, PyAny>, Bound<'py, PyTuple>) {
        (self.maker.bind(py).clone(), self.arguments(py))
    }
}
