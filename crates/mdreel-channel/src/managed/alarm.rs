//! The alarm: when to look into a directory again.
//!
//! The system tells of what comes into a directory of this machine. Of what other machines put there it tells nothing, and gives no
//! sign that it does not: so there are looks beside its notices, at growing intervals.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};

/// The shortest and the longest time between two looks of which the system has not said that they pay.
const PAUSES: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(50));

/// Wakes who waits for something in a directory.
#[derive(Debug)]
pub(super) struct Alarm {
    /// What the system tells; `None` where it refuses, as it does when there are too many watches.
    notices: Option<OwnedFd>,
    pause: Duration,
}

impl Alarm {
    /// An alarm for a directory. What comes after this call is told.
    pub(crate) fn new(directory: &Path) -> Self {
        Alarm { notices: notices_of(directory), pause: PAUSES.0 }
    }

    /// Looks soon again, after something was found.
    pub(crate) fn quicken(&mut self) {
        self.pause = PAUSES.0;
    }

    /// Waits until it is time to look, at most so long.
    pub(crate) fn wait(&mut self, at_most: Duration) {
        let pause = self.pause.min(at_most);
        self.pause = (2 * self.pause).min(PAUSES.1);
        let Some(notices) = &self.notices else {
            std::thread::sleep(pause);
            return;
        };
        let timeout = Timespec { tv_sec: pause.as_secs() as _, tv_nsec: pause.subsec_nanos() as _ };
        if poll(&mut [PollFd::new(notices, PollFlags::IN)], Some(&timeout)).is_ok_and(|n_ready| n_ready > 0) {
            // They are taken all, as they only mean that it is time to look.
            let mut taken = [0; 4096];
            while rustix::io::read(notices, &mut taken).is_ok_and(|n_bytes| n_bytes > 0) {}
        }
    }
}

fn notices_of(directory: &Path) -> Option<OwnedFd> {
    let notices = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok()?;
    // Files come by being renamed; those of programs that are not ours may be made in place.
    add_watch(&notices, directory, WatchFlags::MOVED_TO | WatchFlags::CREATE).ok()?;
    Some(notices)
}
