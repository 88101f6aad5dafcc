//! Positions compressed as in the XTC format, in sections of the frames of a channel.

use std::path::Path;

use mdreel_core::Error;
use mdreel_core::source::xtc::alone;
use mdreel_core::writer::xtc::most_frame_bytes;
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::error::to_python;

/// Return a number of bytes that suffices for a frame of `n_atoms` atoms in an XTC file.
#[pyfunction]
pub(crate) fn channel_xtc_frame_bytes(n_atoms: usize) -> usize {
    most_frame_bytes(n_atoms)
}

/// Return the positions in a frame of an XTC file, shape (n_atoms, 3), float32, Å.
#[pyfunction]
pub(crate) fn channel_xtc_positions<'py>(
    py: Python<'py>,
    frame: PyReadonlyArray1<'py, u8>,
    n_atoms: usize,
) -> PyResult<Bound<'py, PyArray2<f32>>> {
    let bytes = frame.as_slice()?;
    let values = py.detach(|| alone::positions(bytes, n_atoms).map_err(|fault| said(&fault.message, fault.byte)));
    PyArray1::from_vec(py, values.map_err(|error| to_python(py, error))?).reshape([n_atoms, 3])
}

fn said(message: &str, byte: u64) -> Error {
    Error::format(Path::new("positions that are compressed as XTC"), None, Some(byte), message.to_owned())
}
