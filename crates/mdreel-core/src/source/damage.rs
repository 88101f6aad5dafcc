//! Damaged frames and their handling.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Place, Result};

/// Handling of a damaged frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnError {
    /// The error is raised.
    #[default]
    Raise,
    /// The trajectory ends before the frame.
    Stop,
    /// The frame is skipped.
    Skip,
}

impl OnError {
    /// Returns the variant with this name.
    pub fn from_name(name: &str) -> Result<Self> {
        match name {
            "raise" => Ok(OnError::Raise),
            "stop" => Ok(OnError::Stop),
            "skip" => Ok(OnError::Skip),
            _ => Err(Error::unsupported(format!("unknown on_error {name:?}; known: raise, stop, skip"))),
        }
    }

    /// Returns the name of the variant.
    pub fn name(self) -> &'static str {
        match self {
            OnError::Raise => "raise",
            OnError::Stop => "stop",
            OnError::Skip => "skip",
        }
    }
}

/// A frame that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Damage {
    /// The number of the frame in the trajectory.
    pub frame: u64,
    /// Whether the frame follows the last complete frame of a file. The next file may have a frame with the same
    /// number.
    pub at_end: bool,
    /// The file, and the frame and byte in it.
    pub place: Place,
    /// The expected value and the value found.
    pub message: String,
}

impl Damage {
    /// Converts `error` to damage, or returns it if it does not describe a damaged frame.
    pub(crate) fn of(frame: u64, error: Error) -> Result<Self> {
        match error {
            Error::Format { place, message } if place.frame.is_some() => {
                Ok(Damage { frame, at_end: false, place, message })
            }
            error => Err(error),
        }
    }

    /// Converts the damage into an error, for callers that do not tolerate it.
    pub fn into_error(self) -> Error {
        Error::Format { place: self.place, message: self.message }
    }
}
