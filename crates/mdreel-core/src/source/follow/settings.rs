//! Settings for following a file.

use std::time::Duration;

use super::ending::Ending;
use crate::source::format::Format;
use crate::source::frame_index::Keep;

/// Settings for following a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The conditions for the end of the file.
    pub ending: Ending,
    /// The format; `None` detects it from the content.
    pub format: Option<Format>,
    /// The time to wait for the first frame; `None` waits without limit.
    pub timeout: Option<Duration>,
    /// The place where the frame index is kept.
    pub keep: Keep,
    /// Whether the system may be asked to report growth, if the file system is local.
    pub may_notify: bool,
}
