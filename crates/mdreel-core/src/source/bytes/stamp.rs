//! Stamps of files. With a stamp, another process notices that it sees a different file.

use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// Properties of a file when it was opened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    /// Size in bytes.
    pub(crate) len: u64,
    /// Facts that the file system reports, for a local file.
    pub(super) facts: Option<Facts>,
    /// The version of a remote file.
    pub(super) version: Option<String>,
    /// The machine on which the file was seen. Device and inode are meaningless on other machines.
    machine: Option<Arc<str>>,
}

/// Facts that a file system reports about a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Facts {
    /// Device and inode of the file.
    pub identity: (u64, u64),
    /// The times of the last modification and of the last change, in ns.
    pub times: [u64; 2],
}

impl Stamp {
    /// Creates the stamp of a file of `len` bytes, seen on this machine.
    pub(super) fn new(len: u64, facts: Option<Facts>, version: Option<String>) -> Self {
        Stamp { len, facts, version, machine: machine() }
    }

    /// Creates the stamp of a local file, seen on `machine`.
    pub(super) fn seen_on(machine: Option<Arc<str>>, len: u64, facts: Facts) -> Self {
        Stamp { len, facts: Some(facts), version: None, machine }
    }

    /// Encodes the stamp for another process.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        postcard::to_allocvec(self).map_err(|error| Error::worker(format!("a file cannot be told of: {error}")))
    }

    /// Decodes a stamp.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let wrong = |error| Error::mismatch(format!("{} bytes do not tell of a file: {error}", bytes.len()));
        postcard::from_bytes(bytes).map_err(wrong)
    }

    /// Explains why a file of `len` bytes with these `facts` is not the stamped file. Returns `None` if it may be that
    /// file.
    pub(super) fn contradiction(&self, len: u64, facts: &Facts) -> Option<String> {
        if len != self.len {
            let there = self.len;
            return Some(format!(
                "{len} bytes are seen here, {there} where the run was begun: it is not the same file"
            ));
        }
        let stamped = self.facts.as_ref().filter(|_| self.machine.is_some() && self.machine == machine())?;
        if stamped.identity.0 != facts.identity.0 {
            return None; // The same file system may be mounted twice, as two devices.
        }
        if stamped.identity != facts.identity {
            return Some("another file has this name since the trajectory was opened".to_owned());
        }
        (stamped.times[0] != facts.times[0]).then(|| "the file was modified since the trajectory was opened".to_owned())
    }
}

/// Returns an identifier of this machine, which changes when the machine reboots. Returns `None` if the system provides
/// none.
pub(super) fn machine() -> Option<Arc<str>> {
    static MACHINE: OnceLock<Option<Arc<str>>> = OnceLock::new();
    let read = || std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok().map(Arc::from);
    MACHINE.get_or_init(read).clone()
}
