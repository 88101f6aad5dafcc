//! Processes for whose end a reader waits.

use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

use crate::error::{Error, Result};

/// A process for whose end a reader waits.
#[derive(Debug)]
pub(super) struct Process {
    pub number: u32,
    pid: Pid,
    /// A descriptor of exactly this process, never of a later one with the same number. `None` if the system has none.
    descriptor: Option<OwnedFd>,
    was_there: bool,
}

impl Process {
    pub(super) fn new(number: u32) -> Result<Self> {
        let pid = i32::try_from(number).ok().and_then(Pid::from_raw);
        let pid = pid.ok_or_else(|| Error::mismatch(format!("{number} is no number of a process")))?;
        let descriptor = open_process(pid);
        let was_there = descriptor.as_ref().err() != Some(&Errno::SRCH);
        Ok(Process { number, pid, descriptor: descriptor.ok(), was_there })
    }

    pub(super) fn has_ended(&self) -> bool {
        let Some(descriptor) = &self.descriptor else {
            return !self.was_there || test_kill_process(self.pid) == Err(Errno::SRCH);
        };
        // The descriptor becomes readable once the process has ended, even before its parent has waited for it.
        let mut asked = [PollFd::new(descriptor, PollFlags::IN)];
        poll(&mut asked, Some(&Timespec::default())).is_ok_and(|n_ready| n_ready > 0)
    }
}

#[cfg(target_os = "linux")]
fn open_process(pid: Pid) -> std::result::Result<OwnedFd, Errno> {
    rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty())
}

/// Returns an error: other systems have no such descriptors.
#[cfg(not(target_os = "linux"))]
fn open_process(_pid: Pid) -> std::result::Result<OwnedFd, Errno> {
    Err(Errno::NOSYS)
}
