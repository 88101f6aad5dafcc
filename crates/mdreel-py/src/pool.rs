//! What Python sees while the pool works.

use std::panic::{AssertUnwindSafe, catch_unwind};

use mdreel_core::Result;
use mdreel_core::pool::Monitor;
use pyo3::prelude::*;

use crate::error::{from_panic, to_python};

/// Does `work` without the interpreter; `callback` is called about every 50 ms with the number of frames done, and what
/// it raises ends the work.
pub fn attended<T: Send>(
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

/// Lets Python see its signals and the progress while the core works.
pub struct Attendant {
    callback: Option<Py<PyAny>>,
    /// What stopped the run: the exception of a signal handler or of the callback.
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
