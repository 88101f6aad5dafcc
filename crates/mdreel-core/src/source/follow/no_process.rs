//! Replacement for processes on systems where mdreel cannot wait for their end.

use crate::error::{Error, Result};

/// A process for whose end a reader waits. It cannot be created on this system.
#[derive(Debug)]
pub(super) struct Process {
    pub number: u32,
}

impl Process {
    pub(super) fn new(number: u32) -> Result<Self> {
        let message =
            "this system does not tell when a process has ended; give a number of frames, a time or a stop file";
        Err(Error::unsupported(format!("cannot wait for the end of process {number}: {message}")))
    }

    #[expect(clippy::unused_self, reason = "the interface of processes")]
    pub(super) fn has_ended(&self) -> bool {
        false
    }
}
