//! Trajectories that Python reads. They are slower, but support all formats that the core does not know.

mod reader;

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use mdreel_core::frame::Quantities;
use mdreel_core::source::capabilities::Capabilities;
use mdreel_core::source::open::Opened;
use mdreel_core::source::{self as core, AtomSelection, Reader};
use mdreel_core::{Error, Result};
use pyo3::prelude::*;

use crate::error::to_python;
use crate::frame::quantities;
use crate::origin::Origin;
use crate::source::Source;
use reader::ForeignReader;

/// A trajectory that Python reads; see `mdreel.trajectory.mdanalysis_source.ForeignTrajectory`.
struct Foreign {
    trajectory: Py<PyAny>,
    path: PathBuf,
    n_atoms: usize,
    n_frames: u64,
    n_bytes: u64,
    quantities: Quantities,
    times: OnceLock<Vec<f64>>,
}

/// Open a trajectory that Python reads.
///
/// `trajectory` must have the methods `open` and `times`. The reader that `open` returns must have the methods `expect` and
/// `frame`.
#[pyfunction]
#[pyo3(signature = (trajectory, path, n_atoms, n_frames, n_bytes, names, facts, recipe))]
#[allow(clippy::too_many_arguments, reason = "named by the caller")]
pub(crate) fn foreign_source<'py>(
    py: Python<'py>,
    trajectory: Py<PyAny>,
    path: PathBuf,
    n_atoms: usize,
    n_frames: u64,
    n_bytes: u64,
    names: Vec<String>,
    facts: Bound<'py, PyAny>,
    recipe: (Py<PyAny>, Py<PyAny>),
) -> PyResult<Source> {
    let quantities = quantities(&names).map_err(|error| to_python(py, error))?;
    let format = facts.get_item("format")?.extract::<String>()?;
    let foreign = Foreign { trajectory, path, n_atoms, n_frames, n_bytes, quantities, times: OnceLock::new() };
    Ok(Source::described(Opened::Other(Arc::new(foreign), format.into()), Origin::Recipe(recipe), facts))
}

impl Foreign {
    fn error(&self, py: Python<'_>, frame: Option<u64>, error: &PyErr) -> Error {
        Error::format(&self.path, frame, None, format!("{}: {}", error.get_type(py), error.value(py)))
    }
}

impl core::Source for Foreign {
    fn n_atoms(&self) -> usize {
        self.n_atoms
    }

    fn n_frames(&self) -> Result<u64> {
        Ok(self.n_frames)
    }

    fn times(&self) -> Result<Vec<f64>> {
        if let Some(times) = self.times.get() {
            return Ok(times.clone());
        }
        let read = |py: Python<'_>| self.trajectory.bind(py).call_method0("times")?.extract::<Vec<f64>>();
        let times = Python::attach(|py| read(py).map_err(|error| self.error(py, None, &error)))?;
        Ok(self.times.get_or_init(|| times).clone())
    }

    fn n_bytes(&self) -> u64 {
        self.n_bytes
    }

    fn capabilities(&self) -> Capabilities<'_> {
        Capabilities { quantities: self.quantities, ..Capabilities::NONE }
    }

    fn reader<'a>(&'a self, atoms: &'a AtomSelection, _wanted: Quantities) -> Result<Box<dyn Reader + 'a>> {
        atoms.check(self.n_atoms)?;
        Ok(Box::new(ForeignReader::new(self, atoms)))
    }
}
