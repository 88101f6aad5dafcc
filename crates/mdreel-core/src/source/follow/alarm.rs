//! Wake-up before the next check of a file. On local file systems, the system reports changes. On other file systems,
//! it does not know the writes of other machines, so the file is checked at increasing intervals.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::source::bytes::is_local;

/// The shortest and the longest time between two checks of a file for which the system reports no changes.
const PAUSES: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(1));

/// The descriptor from which change notifications are read.
#[cfg(any(target_os = "linux", target_os = "android"))]
type Notices = std::os::fd::OwnedFd;

/// Notifications, which do not exist on other systems: files are polled there.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
type Notices = std::convert::Infallible;

/// An alarm that wakes a worker when it is time to check a file for growth.
#[derive(Debug)]
pub(super) struct Alarm {
    path: PathBuf,
    may_notify: bool,
    /// Notifications about the file and its directory; `None` if the file is polled.
    notices: Option<Notices>,
    pause: Duration,
    next_look: Instant,
}

impl Alarm {
    /// Creates an alarm for the file at `path`, which need not exist yet. Unless `may_notify` is set, the alarm polls.
    pub(crate) fn new(path: &Path, may_notify: bool) -> Self {
        let path = path.to_owned();
        let mut alarm = Alarm { path, may_notify, notices: None, pause: PAUSES.0, next_look: Instant::now() };
        alarm.watch();
        alarm
    }

    /// Asks the system to report changes of the directory, and of the file if it exists. This requires `may_notify` and
    /// a local file system.
    pub(crate) fn watch(&mut self) {
        let directory = self.path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let may_notify = self.may_notify && File::open(directory).is_ok_and(|directory| is_local(&directory));
        // If no watch can be created, for example because there are too many, the alarm polls instead.
        self.notices = if may_notify { notices_of(&self.path, directory) } else { None };
        self.quicken();
    }

    /// Returns whether the file is polled because the system reports no changes.
    pub(crate) fn is_polling(&self) -> bool {
        self.notices.is_none()
    }

    /// Makes the next check due immediately, after something was found.
    pub(crate) fn quicken(&mut self) {
        self.pause = PAUSES.0;
        self.next_look = Instant::now();
    }

    /// Waits for at most `at_most`. Returns whether it is time for a check.
    pub(crate) fn wait(&mut self, at_most: Duration) -> bool {
        if let Some(notices) = &self.notices {
            wait_for(notices, at_most);
            // The check also tests end conditions, which cause no notification.
            return true;
        }
        let left = self.next_look.saturating_duration_since(Instant::now());
        std::thread::sleep(left.min(at_most));
        if left > at_most {
            return false;
        }
        self.next_look = Instant::now() + self.pause;
        self.pause = (2 * self.pause).min(PAUSES.1);
        true
    }
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn notices_of(path: &Path, directory: &Path) -> Option<Notices> {
    use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};

    let notices = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok()?;
    let appearing = WatchFlags::CREATE | WatchFlags::MOVED_TO;
    add_watch(&notices, directory, appearing | WatchFlags::MOVED_FROM | WatchFlags::DELETE).ok()?;
    let growing = WatchFlags::MODIFY | WatchFlags::ATTRIB | WatchFlags::DELETE_SELF | WatchFlags::MOVE_SELF;
    match add_watch(&notices, path, growing) {
        Ok(_) => Some(notices),
        // The directory watch will report when the file appears.
        Err(rustix::io::Errno::NOENT) => Some(notices),
        Err(_) => None,
    }
}

/// Waits until there is a notification and consumes all of them. They only mean that it is time for a check.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn wait_for(notices: &Notices, at_most: Duration) {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    let timeout = Timespec { tv_sec: at_most.as_secs() as _, tv_nsec: at_most.subsec_nanos() as _ };
    if poll(&mut [PollFd::new(notices, PollFlags::IN)], Some(&timeout)).is_ok_and(|n_ready| n_ready > 0) {
        let mut taken = [0; 4096];
        while rustix::io::read(notices, &mut taken).is_ok_and(|n_bytes| n_bytes > 0) {}
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn notices_of(_path: &Path, _directory: &Path) -> Option<Notices> {
    None
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn wait_for(notices: &Notices, _at_most: Duration) {
    match *notices {}
}
