//! Waiting for the core while Python can still handle its signals.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;

use mdreel_core::pool::POLL_INTERVAL;
use mdreel_core::source::{Source, SourceExt};
use mdreel_core::{Error, Result};
use pyo3::prelude::*;

use crate::error::{from_panic, to_python};

/// The number of atoms, counted once per frame, whose coordinates are read in a few milliseconds.
const FEW: u64 = 1 << 19;

/// Reads `n_frames` of `n_atoms` of a source with `work`. A short read runs on the calling thread, because starting a thread
/// would take as long as reading a small frame.
pub(crate) fn read<T: Send + 'static>(
    py: Python<'_>,
    source: &dyn Source,
    [n_frames, n_atoms]: [u64; 2],
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> PyResult<T> {
    let is_at_hand = source.n_fetched().is_none() && source.unlocated_bytes().is_none();
    if !is_at_hand || n_frames.saturating_mul(n_atoms) > FEW {
        return patiently(py, work);
    }
    match py.detach(|| catch_unwind(AssertUnwindSafe(work))) {
        Ok(result) => result.map_err(|error| to_python(py, error)),
        Err(panic) => Err(from_panic(py, panic.as_ref())),
    }
}

/// Runs `work` on a separate thread and waits for it. If a signal handler raises (Ctrl-C), the wait ends; the thread then
/// finishes its work, and its result is discarded.
pub(crate) fn patiently<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> PyResult<T> {
    let (sender, mut receiver) = mpsc::channel();
    let body = move || {
        let outcome = catch_unwind(AssertUnwindSafe(work));
        // After a signal, the receiver is gone. This is not an error.
        let _ = sender.send(outcome);
    };
    thread::Builder::new()
        .name("mdreel-call".into())
        .spawn(body)
        .map_err(|error| to_python(py, Error::worker(format!("a thread could not be started: {error}"))))?;
    loop {
        let receiver = &mut receiver;
        match py.detach(move || receiver.recv_timeout(POLL_INTERVAL)) {
            Ok(Ok(result)) => return result.map_err(|error| to_python(py, error)),
            Ok(Err(panic)) => return Err(from_panic(py, panic.as_ref())),
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(to_python(py, Error::worker("a thread of the core was lost")));
            }
        }
    }
}
