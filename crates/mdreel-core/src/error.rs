//! Errors. Every message names the file, the frame, the byte, the expected value and the value found.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// The result of every fallible call of the core.
pub type Result<T> = std::result::Result<T, Error>;

/// The place of a problem in a file. Unknown parts are `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The file.
    #[serde(with = "any_path")]
    pub path: PathBuf,
    /// The frame, counted from 0.
    pub frame: Option<u64>,
    /// The byte, counted from the start of the file.
    pub byte: Option<u64>,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.path.display())?;
        if let Some(frame) = self.frame {
            write!(f, ", frame {frame}")?;
        }
        if let Some(byte) = self.byte {
            write!(f, ", byte {byte}")?;
        }
        Ok(())
    }
}

/// Serialization of paths as bytes, because not all paths are UTF-8.
mod any_path {
    use std::ffi::OsString;
    use std::path::{Path, PathBuf};

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
        path.as_os_str().as_encoded_bytes().serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
        let bytes = Vec::<u8>::deserialize(deserializer)?;
        #[cfg(unix)]
        let path: OsString = std::os::unix::ffi::OsStringExt::from_vec(bytes);
        #[cfg(not(unix))]
        let path: OsString = String::from_utf8_lossy(&bytes).into_owned().into();
        Ok(path.into())
    }
}

/// A description of a problem, with the file and the frame where they are known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The file, channel or directory.
    pub path: Option<PathBuf>,
    /// The frame, counted from 0.
    pub frame: Option<u64>,
    /// The expected value, the value found, and the remedy.
    pub message: String,
}

impl<M: Into<String>> From<M> for Problem {
    fn from(message: M) -> Self {
        Problem { path: None, frame: None, message: message.into() }
    }
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (&self.path, self.frame) {
            (Some(path), Some(frame)) => write!(f, "{}, frame {frame}: ", path.display())?,
            (Some(path), None) => write!(f, "{}: ", path.display())?,
            (None, Some(frame)) => write!(f, "frame {frame}: ")?,
            (None, None) => {}
        }
        f.write_str(&self.message)
    }
}

/// The errors of the core. The Python exceptions of `mdreel.errors` mirror the variants and their fields.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operating system reported an error. The variant keeps the error number, so a missing file stays a missing
    /// file.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        error: std::io::Error,
    },
    /// A file does not follow its format: it is truncated, corrupt, or has another format.
    #[error("{place}: {message}")]
    Format {
        /// The place of the damage.
        place: Place,
        /// The expected value and the value found.
        message: String,
    },
    /// A frame number lies outside the trajectory.
    #[error("{path}: frame {frame} does not exist: the trajectory has {n_frames} frames", path = path.display())]
    FrameIndex {
        /// The file.
        path: PathBuf,
        /// The requested frame.
        frame: u64,
        /// The number of frames of the trajectory.
        n_frames: u64,
    },
    /// Two inputs do not fit each other, for example in their number of atoms or array length.
    #[error("{0}")]
    Mismatch(Problem),
    /// The input is valid, but not supported.
    #[error("{0}")]
    Unsupported(Problem),
    /// A growing file or a channel was lost, or ended too early.
    #[error("{0}")]
    Stream(Problem),
    /// A growing file or a channel gave no frame within the timeout.
    #[error("{0}")]
    StreamTimeout(Problem),
    /// A user function failed.
    #[error("{0}")]
    Function(Problem),
    /// A worker was lost.
    #[error("{0}")]
    Worker(Problem),
    /// The caller asked to stop (Ctrl-C).
    #[error("stopped on request")]
    Interrupted,
}

impl Clone for Error {
    /// Clones the error for another worker. `std::io::Error` cannot be cloned, so the method creates a new one from its
    /// error number, or from its text if it has no number.
    fn clone(&self) -> Self {
        match self {
            Error::Io { path, error } => {
                let again = error.raw_os_error().map(std::io::Error::from_raw_os_error);
                let again = again.unwrap_or_else(|| std::io::Error::new(error.kind(), error.to_string()));
                Error::Io { path: path.clone(), error: again }
            }
            Error::Format { place, message } => Error::Format { place: place.clone(), message: message.clone() },
            Error::FrameIndex { path, frame, n_frames } => {
                Error::FrameIndex { path: path.clone(), frame: *frame, n_frames: *n_frames }
            }
            Error::Mismatch(problem) => Error::Mismatch(problem.clone()),
            Error::Unsupported(problem) => Error::Unsupported(problem.clone()),
            Error::Stream(problem) => Error::Stream(problem.clone()),
            Error::StreamTimeout(problem) => Error::StreamTimeout(problem.clone()),
            Error::Function(problem) => Error::Function(problem.clone()),
            Error::Worker(problem) => Error::Worker(problem.clone()),
            Error::Interrupted => Error::Interrupted,
        }
    }
}

impl Error {
    /// Creates an I/O error for `path`.
    pub fn io(path: &Path, error: std::io::Error) -> Self {
        Error::Io { path: path.to_owned(), error }
    }

    /// Creates a format error for a place in `path`.
    pub fn format(path: &Path, frame: Option<u64>, byte: Option<u64>, message: impl Into<String>) -> Self {
        Error::Format { place: Place { path: path.to_owned(), frame, byte }, message: message.into() }
    }

    /// Creates an `Error::Mismatch` without file and frame; `in_file` and `at_frame` add them.
    pub fn mismatch(problem: impl Into<Problem>) -> Self {
        Error::Mismatch(problem.into())
    }

    /// Creates an `Error::Unsupported` without file and frame; `in_file` and `at_frame` add them.
    pub fn unsupported(problem: impl Into<Problem>) -> Self {
        Error::Unsupported(problem.into())
    }

    /// Creates an `Error::Stream` without file and frame; `in_file` and `at_frame` add them.
    pub fn stream(problem: impl Into<Problem>) -> Self {
        Error::Stream(problem.into())
    }

    /// Creates an `Error::StreamTimeout` without file and frame; `in_file` and `at_frame` add them.
    pub fn stream_timeout(problem: impl Into<Problem>) -> Self {
        Error::StreamTimeout(problem.into())
    }

    /// Creates an `Error::Function` without file and frame; `in_file` and `at_frame` add them.
    pub fn function(problem: impl Into<Problem>) -> Self {
        Error::Function(problem.into())
    }

    /// Creates an `Error::Worker` without file and frame; `in_file` and `at_frame` add them.
    pub fn worker(problem: impl Into<Problem>) -> Self {
        Error::Worker(problem.into())
    }

    /// Adds the path of the affected file, channel or directory to the error.
    pub fn in_file(mut self, path: &Path) -> Self {
        if let Some(problem) = self.problem() {
            problem.path = Some(path.to_owned());
        }
        self
    }

    /// Adds the number of the affected frame to the error.
    pub fn at_frame(mut self, frame: u64) -> Self {
        if let Some(problem) = self.problem() {
            problem.frame = Some(frame);
        }
        self
    }

    fn problem(&mut self) -> Option<&mut Problem> {
        match self {
            Error::Mismatch(problem)
            | Error::Unsupported(problem)
            | Error::Stream(problem)
            | Error::StreamTimeout(problem)
            | Error::Function(problem)
            | Error::Worker(problem) => Some(problem),
            _ => None,
        }
    }
}
