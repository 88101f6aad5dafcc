//! Remote files whose bytes Python fetches.

use std::ops::Range;
use std::sync::Arc;

use mdreel_core::source::bytes::{Fetch, RemoteFile};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// An object with `fetch(ranges)`; see `mdreel.trajectory.remote.RemoteFile`.
struct Fetcher(Py<PyAny>);

impl Fetch for Fetcher {
    fn fetch(&self, ranges: &[Range<u64>]) -> Result<Vec<Vec<u8>>, String> {
        let pairs: Vec<(u64, u64)> = ranges.iter().map(|range| (range.start, range.end)).collect();
        Python::attach(|py| {
            let parts: Vec<Bound<'_, PyBytes>> = self.0.bind(py).call_method1("fetch", (pairs,))?.extract()?;
            Ok(parts.iter().map(|part| part.as_bytes().to_vec()).collect())
        })
        .map_err(|error: PyErr| error.to_string())
    }
}

/// Returns the remote file of `object`; `None` if `object` is a path.
pub(crate) fn remote_file(object: &Bound<'_, PyAny>) -> PyResult<Option<RemoteFile>> {
    if !object.hasattr("fetch")? {
        return Ok(None);
    }
    let url: String = object.getattr("url")?.extract()?;
    let (size, version) = (object.getattr("size")?.extract()?, object.getattr("version")?.extract()?);
    Ok(Some(RemoteFile::new(&url, size, version, Arc::new(Fetcher(object.clone().unbind())))))
}
