//! Files whose bytes a Python object reads, for example through MPI-IO.

use std::ops::Range;
use std::sync::Arc;

use mdreel_core::source::bytes::ExternalReads;
use mdreel_core::source::open::Opened;
use numpy::{PyReadonlyArray1, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::error::to_python;

/// An object with `read(file, ranges)`; see `mdreel.execution.executors.mpi.mpiio_files.RangeReads`.
struct RangeReads {
    object: Py<PyAny>,
    file: usize,
}

impl ExternalReads for RangeReads {
    fn read(&self, ranges: &[Range<u64>], target: &mut [u8]) -> Result<usize, String> {
        let pairs: Vec<(u64, u64)> = ranges.iter().map(|range| (range.start, range.end)).collect();
        Python::attach(|py| {
            let read = || {
                let found = self.object.bind(py).call_method1("read", (self.file, pairs))?;
                let found: PyReadonlyArray1<'_, u8> = found.extract()?;
                let Some(place) = target.get_mut(..found.len()) else {
                    return Err(PyValueError::new_err(format!("{} bytes came for {}", found.len(), target.len())));
                };
                place.copy_from_slice(found.as_slice()?);
                Ok(found.len())
            };
            read().map_err(|error: PyErr| error.value(py).to_string())
        })
    }
}

/// Returns the same trajectory, with `object` reading the bytes of its files.
pub(crate) fn read_by(py: Python<'_>, opened: &Opened, object: &Py<PyAny>) -> PyResult<Opened> {
    let reads = |file: usize| Arc::new(RangeReads { object: object.clone_ref(py), file }) as _;
    opened.read_by(reads).map_err(|error| to_python(py, error))
}
