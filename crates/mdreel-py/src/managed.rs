//! Managed directories, in which files become visible only when they are complete. See `mdreel.live.managed.reader`.

use std::ffi::OsString;
use std::os::fd::IntoRawFd;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use mdreel_channel::end::End;
use mdreel_channel::managed::arrivals::{Arrivals, Next, Order};
use mdreel_channel::managed::directory::{ManagedDirectory, Settings};
use mdreel_channel::managed::life::Life;
use mdreel_channel::managed::waiting::Patience;
use mdreel_channel::managed::writer::Writer;
use mdreel_core::{Error, Result};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::channel::{Ended, duration, end_named, ended, named};
use crate::error::to_python;

const ORDERS: [(&str, Order); 2] = [("published", Order::Published), ("name", Order::Name)];

fn order_named(py: Python<'_>, name: &str) -> PyResult<Order> {
    named("order", &ORDERS, name).map_err(|error| to_python(py, error))
}

/// Waits in the core for at most `timeout` s. The interpreter is released, except while it checks for signals.
fn waiting<T: Send>(
    py: Python<'_>,
    timeout: Option<f64>,
    wait: impl FnOnce(&mut Patience<'_>) -> Result<T> + Send,
) -> PyResult<T> {
    let at_most = timeout.map(|seconds| duration(py, "timeout", seconds)).transpose()?;
    let mut raised = None;
    let outcome = py.detach(|| {
        let mut keep_waiting = || match Python::attach(|py| py.check_signals()) {
            Ok(()) => true,
            Err(error) => {
                raised = Some(error);
                false
            }
        };
        wait(&mut Patience { at_most, keep_waiting: &mut keep_waiting })
    });
    match (outcome, raised) {
        (Err(Error::Interrupted), Some(raised)) => Err(raised),
        (outcome, _) => outcome.map_err(|error| to_python(py, error)),
    }
}

/// A reader of a managed directory. See `mdreel.live.managed.reader.ManagedDirectory`.
#[pyclass(frozen, module = "mdreel._core")]
pub struct DirectoryReader(ManagedDirectory);

#[pymethods]
impl DirectoryReader {
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let opened = py.detach(|| ManagedDirectory::open(&path));
        opened.map(DirectoryReader).map_err(|error| to_python(py, error))
    }

    /// Path of the directory.
    #[getter]
    fn path(&self) -> PathBuf {
        self.0.path().to_owned()
    }

    /// Wait for a file, open it for reading, and return its descriptor. The caller must close the descriptor.
    ///
    /// The wait takes at most `timeout` seconds; None means no limit.
    #[pyo3(signature = (name, timeout=None))]
    fn open(&self, py: Python<'_>, name: OsString, timeout: Option<f64>) -> PyResult<i32> {
        let file = waiting(py, timeout, |patience| self.0.wait(&name, patience))?;
        Ok(file.into_raw_fd())
    }

    /// Return the files as they arrive, beginning with those that exist.
    ///
    /// `order` (`published` or `name`) is the order of files that are present at the same time. Files up to the one named `after`
    /// are left out.
    #[pyo3(signature = (order, after=None))]
    fn arrivals(&self, py: Python<'_>, order: &str, after: Option<OsString>) -> PyResult<DirectoryArrivals> {
        let order = order_named(py, order)?;
        let arrivals = py.detach(|| self.0.arrivals(order, after.as_deref()));
        let arrivals = arrivals.map_err(|error| to_python(py, error))?;
        Ok(DirectoryArrivals { path: self.path(), arrivals: Mutex::new(arrivals) })
    }

    /// Return the names of the published files, ordered by `published` or `name`.
    fn names(&self, py: Python<'_>, order: &str) -> PyResult<Vec<OsString>> {
        let order = order_named(py, order)?;
        py.detach(|| self.0.names(order)).map_err(|error| to_python(py, error))
    }

    /// Return the state of the producers, and the reason if it is a failure.
    ///
    /// The state is `unborn`, `running`, `finished`, `stopped`, `failed` or `lost`.
    fn state(&self, py: Python<'_>) -> PyResult<Ended> {
        let life = py.detach(|| self.0.life()).map_err(|error| to_python(py, error))?;
        Ok(match life {
            Life::Unborn => ("unborn", None),
            Life::Alive => ("running", None),
            Life::Lost => ("lost", None),
            Life::Ended(end) => ended(&end),
        })
    }
}

/// The files of a managed directory in the order of their arrival.
#[pyclass(frozen, module = "mdreel._core")]
pub struct DirectoryArrivals {
    path: PathBuf,
    arrivals: Mutex<Arrivals>,
}

#[pymethods]
impl DirectoryArrivals {
    /// Wait for the next file, and return its name; return None at the end.
    ///
    /// The wait takes at most `timeout` seconds; None means no limit. The method raises StreamError if a producer has failed.
    #[pyo3(signature = (timeout=None))]
    fn next(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<Option<OsString>> {
        let next = waiting(py, timeout, |patience| {
            self.arrivals.lock().unwrap_or_else(PoisonError::into_inner).next(patience)
        })?;
        match next {
            Next::File(name, _) => Ok(Some(name)),
            Next::End(End::Failed(reason)) => {
                let message = format!("its producer has failed: {reason}");
                Err(to_python(py, Error::stream(message).in_file(&self.path)))
            }
            Next::End(End::Finished | End::Stopped) => Ok(None),
        }
    }
}

/// A producer that publishes files in a managed directory. See `mdreel.live.managed.writer.ManagedProducer`.
#[pyclass(frozen, module = "mdreel._core")]
pub struct DirectoryProducer {
    path: PathBuf,
    /// The directory; `None` once the producer has left.
    directory: Mutex<Option<ManagedDirectory>>,
}

impl DirectoryProducer {
    fn call<T: Send>(&self, py: Python<'_>, work: impl FnOnce(&ManagedDirectory) -> Result<T> + Send) -> PyResult<T> {
        let outcome = py.detach(|| match &*self.directory.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(directory) => work(directory),
            None => Err(Error::mismatch("the producer has left the directory").in_file(&self.path)),
        });
        outcome.map_err(|error| to_python(py, error))
    }
}

#[pymethods]
impl DirectoryProducer {
    #[new]
    #[pyo3(signature = (path, is_synced, keep, is_shared))]
    fn new(py: Python<'_>, path: PathBuf, is_synced: bool, keep: Option<usize>, is_shared: bool) -> PyResult<Self> {
        let created = py.detach(|| ManagedDirectory::create(&path, Settings { is_synced, keep, is_shared }));
        let directory = created.map_err(|error| to_python(py, error))?;
        Ok(DirectoryProducer { path: directory.path().to_owned(), directory: Mutex::new(Some(directory)) })
    }

    /// Path of the directory.
    #[getter]
    fn path(&self) -> PathBuf {
        self.path.clone()
    }

    /// Begin a file, and return its writer.
    fn begin(&self, py: Python<'_>, name: OsString) -> PyResult<DirectoryWriter> {
        let writer = self.call(py, |directory| directory.writer(&name))?;
        let (path, part) = (writer.path(), writer.part().to_owned());
        Ok(DirectoryWriter { path, part, writer: Mutex::new(Some(writer)) })
    }

    /// Remove a published file, and return whether it existed.
    fn remove(&self, py: Python<'_>, name: OsString) -> PyResult<bool> {
        self.call(py, |directory| directory.remove(&name))
    }

    /// Return the names of the published files, ordered by `published` or `name`.
    fn names(&self, py: Python<'_>, order: &str) -> PyResult<Vec<OsString>> {
        let order = order_named(py, order)?;
        self.call(py, |directory| directory.names(order))
    }

    /// End this producer, which publishes nothing more, and return whether the directory has ended as well.
    ///
    /// `how` is `finished`, `stopped` or `failed`, and `reason` is the reason of a failure.
    #[pyo3(signature = (how, reason=String::new()))]
    fn end(&self, py: Python<'_>, how: &str, reason: String) -> PyResult<bool> {
        let end = end_named(how, reason).map_err(|error| to_python(py, error))?;
        let is_last = self.call(py, |directory| directory.end(&end))?;
        self.leave(py);
        Ok(is_last)
    }

    /// Leave the directory without an end record, like a producer that has died.
    fn leave(&self, py: Python<'_>) {
        py.detach(|| drop(self.directory.lock().unwrap_or_else(PoisonError::into_inner).take()));
    }

    /// Whether the producer has left the directory.
    #[getter]
    fn has_left(&self, py: Python<'_>) -> bool {
        py.detach(|| self.directory.lock().unwrap_or_else(PoisonError::into_inner).is_none())
    }
}

/// A file that a producer is writing. See `mdreel.live.managed.writer.ManagedProducer`.
#[pyclass(frozen, module = "mdreel._core")]
pub struct DirectoryWriter {
    path: PathBuf,
    part: PathBuf,
    /// The writer; `None` once the file was published or discarded.
    writer: Mutex<Option<Writer>>,
}

impl DirectoryWriter {
    fn take(&self) -> Option<Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

#[pymethods]
impl DirectoryWriter {
    /// Path of the file after it is published.
    #[getter]
    fn path(&self) -> PathBuf {
        self.path.clone()
    }

    /// Path of the file until it is published.
    #[getter]
    fn part(&self) -> PathBuf {
        self.part.clone()
    }

    /// Publish the file under its final name.
    fn publish(&self, py: Python<'_>) -> PyResult<()> {
        let gone = || Error::mismatch("it was published or discarded before").in_file(&self.path);
        let published = py.detach(|| self.take().ok_or_else(gone)?.publish());
        published.map_err(|error| to_python(py, error))
    }

    /// Discard the file.
    fn discard(&self, py: Python<'_>) {
        py.detach(|| drop(self.take()));
    }
}

/// Return the content of the library for programs that do not know mdreel, or None if this build has none.
#[pyfunction]
pub(crate) fn preload_library(py: Python<'_>) -> Option<Bound<'_, PyBytes>> {
    const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libmdreel_preload.so"));
    (!LIBRARY.is_empty()).then(|| PyBytes::new(py, LIBRARY))
}
