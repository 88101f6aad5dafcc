//! A producer of the core that may have left its channel.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use mdreel_channel::producer::Producer;
use mdreel_core::{Error, Result};
use pyo3::prelude::*;

use super::end_named;
use crate::error::to_python;

/// A producer that Python threads share. It is called without holding the interpreter lock.
pub(super) struct Present {
    path: PathBuf,
    /// The name of its role in messages.
    who: &'static str,
    /// The producer; `None` once it has ended the channel, or left it.
    producer: Mutex<Option<Producer>>,
}

impl Present {
    pub(super) fn new(path: PathBuf, who: &'static str, producer: Producer) -> Self {
        Present { path, who, producer: Mutex::new(Some(producer)) }
    }

    pub(super) fn call<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Producer) -> Result<T> + Send,
    ) -> Result<T> {
        py.detach(|| match &mut *self.producer.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(producer) => work(producer),
            None => Err(Error::mismatch(format!("the {} has left the channel", self.who)).in_file(&self.path)),
        })
    }

    /// Calls the producer as `call` does, and converts an error to a Python exception.
    pub(super) fn get<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Producer) -> Result<T> + Send,
    ) -> PyResult<T> {
        self.call(py, work).map_err(|error| to_python(py, error))
    }

    /// Ends the channel, unless the producer has already left it.
    pub(super) fn end(&self, py: Python<'_>, how: &str, reason: String) -> PyResult<()> {
        let end = end_named(how, reason).map_err(|error| to_python(py, error))?;
        let ended = py.detach(|| self.take().map_or(Ok(()), |producer| producer.end(&end)));
        ended.map_err(|error| to_python(py, error))
    }

    pub(super) fn leave(&self, py: Python<'_>) {
        py.detach(|| drop(self.take()));
    }

    /// Leaves the channel as `leave` does, and tells consumers the reason.
    pub(super) fn leave_because(&self, py: Python<'_>, reason: &str) -> PyResult<()> {
        let left = py.detach(|| self.take().map_or(Ok(()), |producer| producer.leave(reason)));
        left.map_err(|error| to_python(py, error))
    }

    pub(super) fn has_left(&self, py: Python<'_>) -> bool {
        py.detach(|| self.producer.lock().unwrap_or_else(PoisonError::into_inner).is_none())
    }

    fn take(&self) -> Option<Producer> {
        self.producer.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
