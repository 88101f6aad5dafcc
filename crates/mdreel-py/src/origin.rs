//! Where a source came from: what a pickled one is opened from again.

use mdreel_core::source::open::{Location, Opened, Options, open};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use crate::error::to_python;
use crate::patience::patiently;
use crate::remote::remote_file;

/// The arguments with which files were opened.
pub struct Origin {
    /// Paths, or objects that fetch ranges of bytes.
    paths: Py<PyList>,
    format: Option<String>,
    /// Access, place of the index, overlaps.
    names: [String; 3],
}

impl Origin {
    /// Of these arguments.
    pub fn new(paths: Bound<'_, PyList>, format: Option<String>, names: [&str; 3]) -> Self {
        Origin { paths: paths.unbind(), format, names: names.map(str::to_owned) }
    }

    /// Opens the files.
    pub fn open(&self, py: Python<'_>) -> PyResult<Opened> {
        let [access, index, overlaps] = &self.names;
        let options = Options::from_names(self.format.as_deref(), access, index, overlaps);
        let options = options.map_err(|error| to_python(py, error))?;
        let locations = self.paths.bind(py).iter().map(|path| location(&path)).collect::<PyResult<Vec<_>>>()?;
        patiently(py, move || open(locations, options))
    }

    /// The arguments.
    pub fn arguments<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let [access, index, overlaps] = &self.names;
        (self.paths.bind(py), &self.format, access, index, overlaps).into_pyobject(py)
    }
}

fn location(path: &Bound<'_, PyAny>) -> PyResult<Location> {
    Ok(match remote_file(path)? {
        Some(file) => Location::Remote(file),
        None => Location::Path(path.extract()?),
    })
}
