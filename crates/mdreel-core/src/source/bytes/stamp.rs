//! What one process notes of a file, so that another notices that it sees a different one.

use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// What was seen of a file when it was opened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    /// Size in bytes.
    pub(crate) len: u64,
    /// Device and number of the file, and when it was last modified and changed in ns, for files in a file system.
    pub(super) facts: Option<Facts>,
    /// The version of a file behind a network.
    pub(super) version: Option<String>,
    /// The machine on which this was seen; device and number of a file mean nothing elsewhere.
    machine: Option<Arc<str>>,
}

/// What a file system says of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Facts {
    /// Device and number of the file.
    pub identity: (u64, u64),
    /// When it was last modified and last changed, in ns.
    pub times: [u64; 2],
}

impl Stamp {
    /// Notes a file of `len` bytes, as seen on this machine.
    pub(super) fn new(len: u64, facts: Option<Facts>, version: Option<String>) -> Self {
        Stamp { len, facts, version, machine: machine() }
    }

    /// Notes a file of a file system, as it was seen on `machine`.
    pub(super) fn seen_on(machine: Option<Arc<str>>, len: u64, facts: Facts) -> Self {
        Stamp { len, facts: Some(facts), version: None, machine }
    }

    /// Itself as bytes, for another process.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        postcard::to_allocvec(self).map_err(|error| Error::worker(format!("a file cannot be told of: {error}")))
    }

    /// What these bytes tell of a file.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let wrong = |error| Error::mismatch(format!("{} bytes do not tell of a file: {error}", bytes.len()));
        postcard::from_bytes(bytes).map_err(wrong)
    }

    /// Says why a file of `len` bytes with these `facts` is not the one that was stamped; `None` if it may be.
    pub(super) fn contradiction(&self, len: u64, facts: &Facts) -> Option<String> {
        if len != self.len {
            let there = self.len;
            return Some(format!(
                "{len} bytes are seen here, {there} where the run was begun: it is not the same file"
            ));
        }
        let stamped = self.facts.as_ref().filter(|_| self.machine.is_some() && self.machine == machine())?;
        if stamped.identity.0 != facts.identity.0 {
            return None; // The same files may be mounted twice, as two devices.
        }
        if stamped.identity != facts.identity {
            return Some("another file has this name since the trajectory was opened".to_owned());
        }
        (stamped.times[0] != facts.times[0]).then(|| "the file was modified since the trajectory was opened".to_owned())
    }
}

/// What names this machine until it starts again; `None` where the system does not tell.
pub(super) fn machine() -> Option<Arc<str>> {
    static MACHINE: OnceLock<Option<Arc<str>>> = OnceLock::new();
    let read = || std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok().map(Arc::from);
    MACHINE.get_or_init(read).clone()
}
