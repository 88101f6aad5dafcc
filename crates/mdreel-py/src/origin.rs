//! Where a source comes from, so that its pickle can open it once more.

use std::path::PathBuf;

use pyo3::prelude::*;

use crate::source::Source;

/// How a source is opened once more.
pub enum Origin {
    /// The files were opened with these arguments: paths, format, access, index, overlaps.
    Files((Vec<PathBuf>, Option<String>, String, String, String)),
    /// A Python function and its arguments.
    Recipe((Py<PyAny>, Py<PyAny>)),
}

impl Origin {
    /// Function and arguments, as `__reduce__` wants them.
    pub fn reduce<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        match self {
            Origin::Files(arguments) => {
                let arguments = arguments.clone().into_pyobject(py)?.into_any();
                Ok((py.get_type::<Source>().getattr("open")?, arguments))
            }
            Origin::Recipe((function, arguments)) => Ok((function.bind(py).clone(), arguments.bind(py).clone())),
        }
    }
}
