//! The settings of a channel in the layout of C.

use std::ffi::{CStr, OsStr, c_char};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;

use mdreel_channel::layout::frame_len;
use mdreel_channel::manifest::Manifest;
use mdreel_channel::producer::{Policy, Settings};
use mdreel_channel::ring_file::Geometry;
use mdreel_channel::section::{DataType, SectionKind};
use mdreel_channel::staging::{Durability, Retention, Staging};

use crate::error::Failure;

/// The kinds of sections, as bits of `sections`, in the order of the pointers of a frame.
pub(crate) const KINDS: [(u32, SectionKind, &str); 3] = [
    (1, SectionKind::Positions, "positions"),
    (2, SectionKind::Velocities, "velocities"),
    (4, SectionKind::Forces, "forces"),
];
/// The longest wait in seconds.
const LONG: f64 = 1e9;

/// The struct `mdreel_settings`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct CSettings {
    size: u64,
    n_atoms: u64,
    stream: u64,
    topology_hash: [u8; 32],
    time_step: f64,
    stride: u64,
    sections: u32,
    data_type: u32,
    n_slots: u64,
    policy: u32,
    durability: u32,
    wait: f64,
    resume_step: i64,
    staging: *const c_char,
    retention: u64,
}

/// Converts text of C to a path.
///
/// # Safety
///
/// The pointer is null, or points to text that ends with a zero.
pub(crate) unsafe fn path(text: *const c_char, what: &str) -> Result<PathBuf, Failure> {
    if text.is_null() {
        return Err(Failure::Argument(format!("{what}: expected text, got a null pointer")));
    }
    // SAFETY: not null, as checked above. The caller guarantees the rest.
    let bytes = unsafe { CStr::from_ptr(text) }.to_bytes();
    if bytes.is_empty() {
        return Err(Failure::Argument(format!("{what}: expected text, got none")));
    }
    Ok(PathBuf::from(OsStr::from_bytes(bytes)))
}

/// Converts a waiting time in seconds.
pub(crate) fn seconds(wait: f64) -> Result<Duration, Failure> {
    if !(0.0..=LONG).contains(&wait) {
        return Err(Failure::Argument(format!("wait: expected 0 to {LONG} s, got {wait}")));
    }
    Ok(Duration::from_secs_f64(wait))
}

impl CSettings {
    fn data_type(&self) -> Result<(DataType, usize), Failure> {
        match self.data_type {
            1 => Ok((DataType::Float32, 4)),
            2 => Ok((DataType::Float64, 8)),
            other => Err(Failure::Argument(format!("data_type: expected 1 or 2, got {other}"))),
        }
    }

    /// Returns the bits of the sections that a frame may have.
    pub(crate) fn sections(&self) -> u32 {
        self.sections
    }

    /// Returns the data type of the sections, and the number of bytes of each.
    pub(crate) fn section(&self) -> Result<(DataType, usize), Failure> {
        let (data_type, size) = self.data_type()?;
        let length = usize::try_from(self.n_atoms).ok().and_then(|n_atoms| n_atoms.checked_mul(3 * size));
        match length.filter(|length| *length <= isize::MAX as usize) {
            Some(length) => Ok((data_type, length)),
            None => Err(Failure::Argument(format!("n_atoms: {} are too many", self.n_atoms))),
        }
    }

    /// Converts to the settings of the core.
    ///
    /// # Safety
    ///
    /// `staging` is null, or points to text that ends with a zero.
    pub(crate) unsafe fn settings(&self) -> Result<Settings, Failure> {
        let refuse = |message: String| Err(Failure::Argument(message));
        if self.size != size_of::<Self>() as u64 {
            return refuse(format!("size: expected {}, got {}: another header", size_of::<Self>(), self.size));
        }
        let (data_type, length) = self.section()?;
        let kinds: Vec<_> = KINDS.iter().filter(|(bit, ..)| self.sections & bit != 0).collect();
        if kinds.is_empty() || self.sections >= 8 {
            return refuse(format!("sections: expected a sum of 1, 2 and 4, got {}", self.sections));
        }
        let Some(slot_len) = frame_len(kinds.iter().map(|_| length)) else {
            return refuse(format!("n_atoms: {} are too many", self.n_atoms));
        };
        let wait = seconds(self.wait)?;
        let policy = match self.policy {
            0 => Policy::Block(wait),
            1 => Policy::DropOldest,
            other => return refuse(format!("policy: expected 0 or 1, got {other}")),
        };
        let level = match self.durability {
            0 => None,
            1 => Some(Durability::File),
            2 => Some(Durability::Fsync),
            other => return refuse(format!("durability: expected 0, 1 or 2, got {other}")),
        };
        let staging = match level {
            None => None,
            Some(level) => {
                // SAFETY: the caller guarantees it.
                let place = unsafe { path(self.staging, "staging") }?;
                let bytes = (self.retention > 0).then_some(self.retention);
                // A quarter of the retention, so that deleting a segment does not delete everything; at most 64 MiB.
                let segment = bytes.map_or(64 << 20, |bytes| (bytes / 4).clamp(1, 64 << 20));
                Some(Staging::open(&place, level, Retention { count: None, bytes, age: None, segment })?)
            }
        };
        let number = |kind: SectionKind| kind.number().unwrap_or_default();
        let unit = |name: &str, unit: &str| (name.to_owned(), unit.to_owned());
        let manifest = Manifest {
            stream: self.stream,
            topology_hash: self.topology_hash,
            n_atoms: self.n_atoms,
            units: vec![unit("length", "angstrom"), unit("time", "ps"), unit("force", "kJ/(mol*angstrom)")],
            time_step: self.time_step,
            stride: self.stride,
            sections: kinds
                .iter()
                .map(|(_, kind, name)| (number(*kind), data_type.number(), (*name).to_owned()))
                .collect(),
            energies: Vec::new(),
        };
        let geometry = Geometry { n_slots: self.n_slots, slot_len: slot_len as u64 };
        Ok(Settings { geometry, manifest, policy, resume_step: self.resume_step, staging })
    }
}
