//! Waiting for the core without keeping Python from its signals.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;

use mdreel_core::pool::POLL_INTERVAL;
use mdreel_core::{Error, Result};
use pyo3::prelude::*;

use crate::error::{from_panic, to_python};

/// Does `work` on a thread of its own and waits for it. A signal handler that raises (Ctrl-C) ends the waiting; the
/// thread then finishes what it does, and nobody asks for the result.
pub fn patiently<T: Send + 'static>(py: Python<'_>, work: impl FnOnce() -> Result<T> + Send + 'static) -> PyResult<T> {
    let (sender, mut receiver) = mpsc::channel();
    let body = move || {
        let outcome = catch_unwind(AssertUnwindSafe(work));
        // Nobody listens any more after a signal: that is no failure.
        let _ = sender.send(outcome);
    };
    thread::Builder::new()
        .name("mdreel-call".into())
        .spawn(body)
        .map_err(|error| to_python(py, Error::Worker(format!("a thread could not be started: {error}"))))?;
    loop {
        let receiver = &mut receiver;
        match py.detach(move || receiver.recv_timeout(POLL_INTERVAL)) {
            Ok(Ok(result)) => return result.map_err(|error| to_python(py, error)),
            Ok(Err(panic)) => return Err(from_panic(py, panic.as_ref())),
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(to_python(py, Error::Worker("a thread of the core was lost".into())));
            }
        }
    }
}
