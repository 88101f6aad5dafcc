//! Which directories are managed, and which files lie in one.

use std::ffi::{CStr, c_int};
use std::sync::OnceLock;
use std::time::Duration;

use crate::c;
use crate::names::{MOST_NAME, is_visible};
use crate::text::Text;

/// How many directories there may be.
const MOST: usize = 16;

/// What the environment says: read once, before the program begins.
pub(crate) struct Settings {
    directories: [Text; MOST],
    n_directories: usize,
    /// How long an `open` waits; for as long as a producer may come or lives without.
    pub timeout: Option<Duration>,
}

static SETTINGS: OnceLock<Settings> = OnceLock::new();

pub(crate) fn settings() -> Option<&'static Settings> {
    SETTINGS.get()
}

/// Reads the environment. What is no absolute path is left out.
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
    /// The path of a directory.
    pub(crate) fn path(&self, directory: usize) -> &CStr {
        self.directories[directory].path()
    }

    /// The path of a file in a directory.
    pub(crate) fn join(&self, directory: usize, name: &[u8]) -> Text {
        Text::of(&[self.path(directory).to_bytes(), b"/", name])
    }

    /// The directory that is this one.
    pub(crate) fn number_of(&self, identity: (u64, u64)) -> Option<usize> {
        let is_it = |facts: c::Facts| facts.identity == identity;
        (0..self.n_directories).find(|number| c::facts_at(c::AT_FDCWD, self.path(*number)).is_ok_and(is_it))
    }
}

/// A file in a managed directory, under a name that a published file can have but for its length.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    pub settings: &'static Settings,
    pub directory: usize,
    pub name: &'a [u8],
}

impl<'a> Place<'a> {
    /// Where a path leads, if that is in a managed directory. Links and `..` on the way are followed, as the directory is known by its
    /// inode and not by its name.
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

/// The directory of a path, and the name in it.
pub(crate) fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|byte| *byte == b'/') {
        None => (b".", path),
        Some(0) => (b"/", &path[1..]),
        Some(slash) => (&path[..slash], &path[slash + 1..]),
    }
}
