//! Settings for following a file.

use std::time::Duration;

use super::ending::Ending;
use crate::source::format::Format;
use crate::source::frame_index::Keep;

/// How a file is followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// When it has come to its end.
    pub ending: Ending,
    /// The format, where the content is not to decide.
    pub format: Option<Format>,
    /// How long to wait for the first frame; `None` for as long as it takes.
    pub timeout: Option<Duration>,
    /// Where an index of the frames is kept.
    pub keep: Keep,
    /// Whether the system may be asked to tell of growth, where the file system is local.
    pub may_notify: bool,
}
