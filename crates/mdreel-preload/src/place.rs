//! Managed directories, and the files in them.

use std::ffi::{CStr, c_int};
use std::sync::OnceLock;
use std::time::Duration;

use crate::c;
use crate::names::{MOST_NAME, is_visible};
use crate::text::Text;

/// Maximum number of managed directories.
const MOST: usize = 16;

/// Settings from the environment, read once before the program starts.
pub(crate) struct Settings {
    directories: [Text; MOST],
    n_directories: usize,
    /// Longest wait of an `open`. With `None`, an `open` waits as long as a producer is alive or may still start.
    pub timeout: Option<Duration>,
}

static SETTINGS: OnceLock<Settings> = OnceLock::new();

pub(crate) fn settings() -> Option<&'static Settings> {
    SETTINGS.get()
}

/// Reads the environment, ignoring relative paths.
pub(crate) fn read_settings() {
    let Some(value) = c::variable(c"MDREEL_MANAGED") else { return };
    let mut settings = Settings {
        directories: [const { Text::of_nothing() }; MOST],
        n_directories: 0,
        timeout: c::variable(c"MDREEL_MANAGED_TIMEOUT").and_then(seconds),
    };
    for path in value.split(|byte| *byte == b':').filter(|path| path.first() == Some(&b'/')).take(MOST) {
        settings.directories[settings.n_directories] = Text::of(&[path]);
        settings.n_directories += 1;
    }
    if settings.n_directories > 0 {
        let _ = SETTINGS.set(settings);
    }
}

fn seconds(text: &[u8]) -> Option<Duration> {
    let seconds = std::str::from_utf8(text).ok()?.trim().parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

impl Settings {
    /// Returns the path of a directory.
    pub(crate) fn path(&self, directory: usize) -> &CStr {
        self.directories[directory].path()
    }

    /// Returns the path of a file in a directory.
    pub(crate) fn join(&self, directory: usize, name: &[u8]) -> Text {
        Text::of(&[self.path(directory).to_bytes(), b"/", name])
    }

    /// Returns the number of the directory with the given identity.
    pub(crate) fn number_of(&self, identity: (u64, u64)) -> Option<usize> {
        let is_it = |facts: c::Facts| facts.identity == identity;
        (0..self.n_directories).find(|number| c::facts_at(c::AT_FDCWD, self.path(*number)).is_ok_and(is_it))
    }
}

/// A file in a managed directory, with a name that is valid for published files except for its length.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    pub settings: &'static Settings,
    pub directory: usize,
    pub name: &'a [u8],
}

impl<'a> Place<'a> {
    /// Resolves a path to a file in a managed directory. The directory is identified by its inode, so the path can contain links
    /// and `..`.
    pub(crate) fn of(base: c_int, path: &'a CStr) -> Option<Self> {
        let settings = settings()?;
        let (parent, name) = split(path.to_bytes());
        if !is_visible(name) {
            return None;
        }
        c::keeping_errno(|| {
            let identity = c::facts_at(base, Text::of(&[parent]).path()).ok()?.identity;
            let directory = settings.number_of(identity)?;
            Some(Place { settings, directory, name })
        })
    }

    pub(crate) fn path(&self) -> Text {
        self.settings.join(self.directory, self.name)
    }

    pub(crate) fn is_too_long(&self) -> bool {
        self.name.len() > MOST_NAME
    }

    pub(crate) fn tell(&self, message: &str) {
        crate::text::tell(self.settings.path(self.directory), self.name, message);
    }
}

/// Splits a path into directory and name.
pub(crate) fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|byte| *byte == b'/') {
        None => (b".", path),
        Some(0) => (b"/", &path[1..]),
        Some(slash) => (&path[..slash], &path[slash + 1..]),
    }
}
