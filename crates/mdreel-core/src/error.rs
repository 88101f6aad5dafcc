//! Errors: every message says which file, which frame, which byte, what was expected and what was found.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// The result of every fallible call of the core.
pub type Result<T> = std::result::Result<T, Error>;

/// Where in a file something is wrong. Unknown parts stay `None`.
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

/// Paths as bytes: not all of them are UTF-8.
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

/// All that can go wrong in the core. The Python exceptions of `mdreel.errors` mirror the variants.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operating system refused; keeps its error number (a missing file stays a missing file).
    #[error("{}: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        error: std::io::Error,
    },
    /// A file is not what its format says: truncated, corrupt, or of another format.
    #[error("{place}: {message}")]
    Format {
        /// Where.
        place: Place,
        /// What was expected and what was found.
        message: String,
    },
    /// A frame number lies outside the trajectory.
    #[error("{path}: frame {frame} does not exist: the trajectory has {n_frames} frames", path = path.display())]
    FrameIndex {
        /// The file.
        path: PathBuf,
        /// The frame asked for.
        frame: u64,
        /// How many there are.
        n_frames: u64,
    },
    /// Two things that must agree do not (atom counts, array lengths).
    #[error("{0}")]
    Mismatch(String),
    /// Valid, but not supported.
    #[error("{0}")]
    Unsupported(String),
    /// What grows while it is read was lost, or ended before it should have.
    #[error("{0}")]
    Stream(String),
    /// What grows while it is read kept its reader waiting for too long.
    #[error("{0}")]
    StreamTimeout(String),
    /// A function of the user has failed.
    #[error("{0}")]
    Function(String),
    /// A worker was lost.
    #[error("{0}")]
    Worker(String),
    /// The caller asked to stop (Ctrl-C).
    #[error("stopped on request")]
    Interrupted,
}

impl Clone for Error {
    /// The same error for somebody else who meets it.
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
            Error::Mismatch(message) => Error::Mismatch(message.clone()),
            Error::Unsupported(message) => Error::Unsupported(message.clone()),
            Error::Stream(message) => Error::Stream(message.clone()),
            Error::StreamTimeout(message) => Error::StreamTimeout(message.clone()),
            Error::Function(message) => Error::Function(message.clone()),
            Error::Worker(message) => Error::Worker(message.clone()),
            Error::Interrupted => Error::Interrupted,
        }
    }
}

impl Error {
    /// An I/O error on `path`.
    pub fn io(path: &Path, error: std::io::Error) -> Self {
        Error::Io { path: path.to_owned(), error }
    }

    /// A format error at a place of `path`.
    pub fn format(path: &Path, frame: Option<u64>, byte: Option<u64>, message: impl Into<String>) -> Self {
        Error::Format { place: Place { path: path.to_owned(), frame, byte }, message: message.into() }
    }
}
