//! Faults of a frame whose number and file are not known yet.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::Error;

/// A defect of a frame and its position in the frame.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fault {
    /// Position of the defect in bytes from the start of the frame.
    pub byte: u64,
    /// The expected value and the value found.
    pub message: String,
}

impl Fault {
    /// Creates a fault at `byte` of the frame.
    pub(crate) fn new(byte: u64, message: impl Into<String>) -> Self {
        Fault { byte, message: message.into() }
    }

    /// Converts the fault into an error about the file at `path`, in which the frame starts at `offset`.
    pub(crate) fn error(&self, path: &Path, frame: Option<u64>, offset: u64) -> Error {
        Error::format(path, frame, Some(offset + self.byte), self.message.clone())
    }
}
