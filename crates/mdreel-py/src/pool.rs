//! Signals and progress for Python while the pool works.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;

use mdreel_core::pool::{Monitor, POLL_INTERVAL};
use mdreel_core::{Error, Result};
use pyo3::prelude::*;

use crate::error::{from_panic, to_python};

/// Runs `work` without the interpreter. `callback` is called about every 50 ms with the number of finished frames; an exception
/// that it raises ends the work.
pub(crate) fn attended<T: Send>(
    py: Python<'_>,
    callback: Option<Py<PyAny>>,
    work: impl FnOnce(&mut Attendant) -> Result<T> + Send,
) -> PyResult<T> {
    let mut attendant = Attendant { callback, raised: None };
    let outcome = py.detach(|| catch_unwind(AssertUnwindSafe(|| work(&mut attendant))));
    if let Some(error) = attendant.raised {
        return Err(error);
    }
    let outcome = outcome.map_err(|panic| from_panic(py, panic.as_ref()))?;
    outcome.map_err(|error| to_python(py, error))
}

/// Runs `work` that itself calls Python; otherwise as [`attended`]. It runs on a separate thread, on which Python does not raise
/// signals in the middle of such calls. In the meantime, the calling thread handles signals and progress.
pub(crate) fn attended_aside<T: Send>(
    py: Python<'_>,
    callback: Option<Py<PyAny>>,
    work: impl FnOnce(&mut Relay) -> Result<T> + Send,
) -> PyResult<T> {
    let mut attendant = Attendant { callback, raised: None };
    let (frames_done, is_stopped) = (AtomicU64::new(0), AtomicBool::new(false));
    let mut relay = Relay { frames_done: &frames_done, is_stopped: &is_stopped };
    let watch = || {
        let (sender, receiver) = mpsc::channel();
        thread::scope(|scope| {
            let body = move || {
                let outcome = catch_unwind(AssertUnwindSafe(|| work(&mut relay)));
                // The calling thread receives until the outcome has arrived.
                let _ = sender.send(outcome);
            };
            let started = thread::Builder::new().name("mdreel-sink".into()).spawn_scoped(scope, body);
            started.map_err(|error| Error::worker(format!("a thread could not be started: {error}")))?;
            loop {
                match receiver.recv_timeout(POLL_INTERVAL) {
                    Ok(outcome) => return Ok(outcome),
                    Err(RecvTimeoutError::Disconnected) => {
                        return Err(Error::worker("a thread of the core was lost"));
                    }
                    Err(RecvTimeoutError::Timeout) if is_stopped.load(Ordering::Relaxed) => {}
                    Err(RecvTimeoutError::Timeout) => {
                        let goes_on = attendant.poll(frames_done.load(Ordering::Relaxed));
                        is_stopped.store(!goes_on, Ordering::Relaxed);
                    }
                }
            }
        })
    };
    let outcome = py.detach(watch);
    if let Some(error) = attendant.raised {
        return Err(error);
    }
    let outcome = outcome.map_err(|error| to_python(py, error))?;
    outcome.map_err(|panic| from_panic(py, panic.as_ref()))?.map_err(|error| to_python(py, error))
}

/// Passes the progress to the waiting thread, and that thread's request to stop to the pool.
pub(crate) struct Relay<'a> {
    frames_done: &'a AtomicU64,
    is_stopped: &'a AtomicBool,
}

impl Monitor for Relay<'_> {
    fn poll(&mut self, frames_done: u64) -> bool {
        self.frames_done.store(frames_done, Ordering::Relaxed);
        !self.is_stopped.load(Ordering::Relaxed)
    }
}

/// Lets Python handle signals and progress while the core works.
pub(crate) struct Attendant {
    callback: Option<Py<PyAny>>,
    /// The exception of a signal handler or of the callback that has stopped the run.
    raised: Option<PyErr>,
}

impl Monitor for Attendant {
    fn poll(&mut self, frames_done: u64) -> bool {
        Python::attach(|py| {
            let called = || match &self.callback {
                Some(callback) => callback.call1(py, (frames_done,)).map(|_| ()),
                None => Ok(()),
            };
            self.raised = py.check_signals().and_then(|()| called()).err();
            self.raised.is_none()
        })
    }
}
