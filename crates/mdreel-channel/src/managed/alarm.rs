//! The alarm that determines when to check a directory again.
//!
//! The kernel reports files that appear in a directory of this machine. It does not report files that other machines put there,
//! and does not indicate that it cannot. Readers therefore also check without a notice, at growing intervals.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};

/// The shortest and the longest time between two checks without a notice.
const PAUSES: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(50));

/// An alarm that wakes a thread which waits for a file in a directory.
#[derive(Debug)]
pub(super) struct Alarm {
    /// The inotify descriptor; `None` if the kernel refuses it, as it does when there are too many watches.
    notices: Option<OwnedFd>,
    pause: Duration,
}

impl Alarm {
    /// Creates an alarm for a directory. It reports files that come after this call.
    pub(crate) fn new(directory: &Path) -> Self {
        Alarm { notices: notices_of(directory), pause: PAUSES.0 }
    }

    /// Resets the interval to the shortest one, after something was found.
    pub(crate) fn quicken(&mut self) {
        self.pause = PAUSES.0;
    }

    /// Waits until the next check is due, for at most `at_most`.
    pub(crate) fn wait(&mut self, at_most: Duration) {
        let pause = self.pause.min(at_most);
        self.pause = (2 * self.pause).min(PAUSES.1);
        let Some(notices) = &self.notices else {
            std::thread::sleep(pause);
            return;
        };
        let timeout = Timespec { tv_sec: pause.as_secs() as _, tv_nsec: pause.subsec_nanos() as _ };
        if poll(&mut [PollFd::new(notices, PollFlags::IN)], Some(&timeout)).is_ok_and(|n_ready| n_ready > 0) {
            // All notices are read, as they only mean that a check is due.
            let mut taken = [0; 4096];
            while rustix::io::read(notices, &mut taken).is_ok_and(|n_bytes| n_bytes > 0) {}
        }
    }
}

fn notices_of(directory: &Path) -> Option<OwnedFd> {
    let notices = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok()?;
    // mdreel publishes files by renaming them; other programs may create them in place.
    add_watch(&notices, directory, WatchFlags::MOVED_TO | WatchFlags::CREATE).ok()?;
    Some(notices)
}
