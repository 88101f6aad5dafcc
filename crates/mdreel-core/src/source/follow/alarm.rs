//! Wake-up before the next check of a file. On local file systems, the system reports changes. On other file systems,
//! it does not know the writes of other machines, so the file is checked at increasing intervals.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::source::bytes::is_local;

/// The shortest and the longest time between two looks at a file of which the system says nothing.
const PAUSES: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(1));

/// The descriptor from which notices are read.
#[cfg(any(target_os = "linux", target_os = "android"))]
type Notices = std::os::fd::OwnedFd;

/// Other systems are asked again and again.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
type Notices = std::convert::Infallible;

/// Wakes who waits for a file to grow.
#[derive(Debug)]
pub(super) struct Alarm {
    path: PathBuf,
    may_notify: bool,
    /// What the system tells us of the file and of its directory.
    notices: Option<Notices>,
    pause: Duration,
    next_look: Instant,
}

impl Alarm {
    /// An alarm for the file at `path`, which need not be there yet. It polls unless it `may_notify`.
    pub(crate) fn new(path: &Path, may_notify: bool) -> Self {
        let path = path.to_owned();
        let mut alarm = Alarm { path, may_notify, notices: None, pause: PAUSES.0, next_look: Instant::now() };
        alarm.watch();
        alarm
    }

    /// Has the system tell of the file that is there now; of one that is not, of what appears in its directory.
    pub(crate) fn watch(&mut self) {
        let directory = self.path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let may_notify = self.may_notify && File::open(directory).is_ok_and(|directory| is_local(&directory));
        // Where there are too many watches already, polling takes their place.
        self.notices = if may_notify { notices_of(&self.path, directory) } else { None };
        self.quicken();
    }

    /// Whether the system says nothing.
    pub(crate) fn is_polling(&self) -> bool {
        self.notices.is_none()
    }

    /// Looks soon again, after something was found.
    pub(crate) fn quicken(&mut self) {
        self.pause = PAUSES.0;
        self.next_look = Instant::now();
    }

    /// Waits for `at_most` that long. Returns whether it is time to look: something may have happened.
    pub(crate) fn wait(&mut self, at_most: Duration) -> bool {
        if let Some(notices) = &self.notices {
            wait_for(notices, at_most);
            // Conditions are looked at as well, of which the system tells nothing.
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
        // Its appearing will be told.
        Err(rustix::io::Errno::NOENT) => Some(notices),
        Err(_) => None,
    }
}

/// Waits until there is a notice, and takes all there are: they only mean that it is time to look.
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
