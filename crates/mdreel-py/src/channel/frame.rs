//! A frame in a ring, as a buffer object of Python.

use std::ffi::c_int;
use std::path::Path;

use mdreel_channel::held::Held;
use pyo3::ffi;
use pyo3::prelude::*;

use super::{data_type_name, kind_name};
use crate::error::to_python;

/// A frame in the ring, as a read-only buffer. The producer does not change the frame while this object or an array over it
/// exists.
#[pyclass(frozen, module = "mdreel._core")]
pub struct ChannelFrame(pub Held);

/// A section: its name, its data type, its first byte, and the number of its bytes.
type Place = (String, &'static str, usize, usize);

#[pymethods]
impl ChannelFrame {
    /// Epoch of the producer that published the frame.
    #[getter]
    fn epoch(&self) -> u64 {
        self.0.header().epoch
    }

    /// Number of the frame in its stream.
    #[getter]
    fn sequence(&self) -> u64 {
        self.0.header().sequence
    }

    /// Step of the simulation.
    #[getter]
    fn step(&self) -> i64 {
        self.0.header().step
    }

    /// Time in ps.
    #[getter]
    fn time(&self) -> f64 {
        self.0.header().time
    }

    /// Number of atoms.
    #[getter]
    fn n_atoms(&self) -> u64 {
        self.0.header().n_atoms
    }

    /// Three row vectors of the cell, one after another, in Å; None without a cell.
    #[getter]
    fn cell(&self) -> Option<Vec<f64>> {
        self.0.header().cell.map(|cell| cell.to_vec())
    }

    /// Return the name, the data type, the first byte and the number of bytes of each section.
    fn sections(&self, py: Python<'_>) -> PyResult<Vec<Place>> {
        let view = self.0.view().map_err(|error| to_python(py, error))?;
        let start = self.0.bytes().as_ptr().addr();
        let places = view.sections().map(|section| {
            let first = section.bytes.as_ptr().addr() - start;
            (kind_name(section.kind), data_type_name(section.data_type), first, section.bytes.len())
        });
        Ok(places.collect())
    }

    /// Compare each section with its checksum, and raise FormatError if they do not match.
    fn verify(&self, py: Python<'_>) -> PyResult<()> {
        let verified = py.detach(|| self.0.view()?.verify(Path::new("<ring>")));
        verified.map_err(|error| to_python(py, error))
    }

    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        let bytes = slf.get().0.bytes();
        let (start, length) = (bytes.as_ptr().cast_mut().cast(), bytes.len() as ffi::Py_ssize_t);
        // SAFETY: Python provides the view to be filled in. The view gets a reference to this object, so the bytes outlive the
        // view; they neither move nor change while the object lives. The view is marked as read-only.
        let filled = unsafe { ffi::PyBuffer_FillInfo(view, slf.as_ptr(), start, length, 1, flags) };
        if filled == 0 { Ok(()) } else { Err(PyErr::fetch(slf.py())) }
    }

    fn __repr__(&self) -> String {
        let header = self.0.header();
        format!("<frame {} of a channel: step {}, {} ps>", header.sequence, header.step, header.time)
    }
}
