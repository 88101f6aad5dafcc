//! A file that h5py passes to the HDF5 library.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use mdreel_core::Error;
use mdreel_core::writer::LentFile as Lent;
use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::to_python;

/// A file-like object that h5py writes to. The file gets its name when it is complete, and it reports no error to h5py.
///
/// The methods are those that h5py's driver for file-like objects calls. They are not Python code, so Python raises no signal
/// between them. HDF5 cannot continue after an exception.
#[pyclass(frozen, module = "mdreel._core")]
pub struct LentFile(Mutex<State>);

struct State {
    /// The file; `None` once it has its name, or will never have it.
    file: Option<Lent>,
    at: u64,
}

impl LentFile {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl LentFile {
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let file = Lent::create(&path).map_err(|error| to_python(py, error))?;
        Ok(LentFile(Mutex::new(State { file: Some(file), at: 0 })))
    }

    /// Move to a position in bytes, and return it.
    ///
    /// The position is counted from the start of the file (`whence` 0), from the current position (1), or from the end (2).
    #[pyo3(signature = (offset, whence=0))]
    fn seek(&self, offset: i64, whence: u8) -> PyResult<u64> {
        let mut state = self.state();
        let from = match whence {
            0 => 0,
            1 => state.at,
            2 => state.file.as_ref().map_or(0, Lent::len),
            _ => return Err(PyValueError::new_err(format!("no such place to count from: {whence}"))),
        };
        state.at = from.checked_add_signed(offset).ok_or_else(|| PyValueError::new_err("a byte before the first"))?;
        Ok(state.at)
    }

    /// Return the current position in bytes.
    fn tell(&self) -> u64 {
        self.state().at
    }

    /// Read up to `size` bytes from the current position.
    fn read<'py>(&self, py: Python<'py>, size: usize) -> PyResult<Bound<'py, PyBytes>> {
        let mut state = self.state();
        let at = state.at;
        let left = state.file.as_ref().map_or(0, |file| file.len().saturating_sub(at)).min(size as u64) as usize;
        let bytes = PyBytes::new_with(py, left, |bytes| {
            state.file.iter_mut().for_each(|file| {
                file.read(at, bytes);
            });
            Ok(())
        })?;
        state.at += left as u64;
        Ok(bytes)
    }

    /// Write bytes at the current position, and return their number.
    fn write(&self, py: Python<'_>, bytes: PyBuffer<u8>) -> PyResult<usize> {
        let bytes = bytes.to_vec(py)?;
        let mut state = self.state();
        let at = state.at;
        state.file.iter_mut().for_each(|file| file.write(at, &bytes));
        state.at += bytes.len() as u64;
        Ok(bytes.len())
    }

    /// Truncate or extend the file to `size` bytes, and return `size`.
    fn truncate(&self, size: u64) -> u64 {
        self.state().file.iter_mut().for_each(|file| file.set_len(size));
        size
    }

    /// Do nothing: no data is buffered.
    #[expect(clippy::unused_self, reason = "h5py calls it")]
    fn flush(&self) {}

    /// Raise OSError if data could not be written. Each failure is raised only once.
    fn check(&self, py: Python<'_>) -> PyResult<()> {
        let checked = self.state().file.as_mut().map_or(Ok(()), Lent::check);
        checked.map_err(|error| to_python(py, error))
    }

    /// Abandon the file: it still accepts what h5py writes, but writes no more data to the disk.
    fn give_up(&self) {
        self.state().file.iter_mut().for_each(Lent::give_up);
    }

    /// Remove the file, unless it has already got its name. h5py must have closed it.
    fn discard(&self) {
        self.state().file = None;
    }

    /// Give the file its final name. h5py must have closed it.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        let file = self.state().file.take();
        let finished = py.detach(|| match file {
            Some(file) => file.finish(),
            None => Err(Error::mismatch("the file is finished already")),
        });
        finished.map_err(|error| to_python(py, error))
    }
}
