//! Checks of a growing file for new frames and for its end.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use super::alarm::Alarm;
use super::ending::Conditions;
use super::growing::{Growing, Refusal};
use super::settings::Settings;
use crate::error::{Error, Result};

/// Interval at which the caller is asked whether to keep waiting for the first frame.
const SLICE: Duration = Duration::from_millis(20);
/// Time after which a check stops at the next header, so that the other workers get the frames found so far.
pub(super) const LONGEST_LOOK: Duration = Duration::from_millis(20);
/// Maximum number of frames that one check returns.
pub(super) const FRAMES_AT_ONCE: usize = 1024;
/// Time during which invalid bytes may still become a frame. Storage may show bytes in another order than they were
/// written.
const SECOND_LOOK: Duration = Duration::from_millis(500);

/// State that is kept from one check to the next.
#[derive(Debug)]
pub(super) struct Look {
    pub(super) conditions: Conditions,
    pub(super) alarm: Alarm,
    pub(super) doubt: Doubt,
    /// Size of the file at the previous check.
    pub(super) size: u64,
    /// Whether a check is due.
    pub(super) is_due: bool,
}

/// The position of invalid bytes, and the time at which they were first seen.
#[derive(Debug, Default)]
pub(super) struct Doubt(Option<(u64, Instant)>);

impl Doubt {
    /// Returns whether the bytes at `byte` have been invalid for so long that they will not change any more.
    pub(super) fn is_certain(&mut self, byte: u64) -> bool {
        match self.0 {
            Some((place, since)) if place == byte => since.elapsed() >= SECOND_LOOK,
            _ => {
                self.0 = Some((byte, Instant::now()));
                false
            }
        }
    }
}

/// Waits until the file at `path` has its first frame.
pub(super) fn await_file(
    path: &Path,
    settings: &Settings,
    length: &Arc<AtomicU64>,
    keep_waiting: &mut dyn FnMut() -> bool,
) -> Result<(Growing, Look)> {
    let began = Instant::now();
    let mut conditions = Conditions::new(settings.ending.clone())?;
    let mut alarm = Alarm::new(path, settings.may_notify);
    let mut doubt = Doubt::default();
    loop {
        let said = conditions.said();
        let size = size_to_come(path)?;
        match Growing::open(path, settings.format, length) {
            Ok(growing) => {
                alarm.watch();
                return Ok((growing, Look { conditions, alarm, doubt: Doubt::default(), size: 0, is_due: true }));
            }
            Err(Refusal::Wrong(error)) if said.is_some() || doubt.is_certain(0) => return Err(error),
            Err(Refusal::Wrong(_)) => {}
            Err(Refusal::NotYet(error)) => {
                doubt = Doubt::default();
                if said.or_else(|| conditions.see(size)).is_some() {
                    return Err(error);
                }
            }
        }
        if let Some(timeout) = settings.timeout.filter(|&timeout| began.elapsed() >= timeout) {
            let message = format!("no frame came within {} s", timeout.as_secs_f64());
            return Err(Error::stream_timeout(message).in_file(path));
        }
        while !alarm.wait(SLICE) {
            if !keep_waiting() {
                return Err(Error::Interrupted);
            }
        }
        if !keep_waiting() {
            return Err(Error::Interrupted);
        }
    }
}

/// Returns the size of a file that may not exist yet.
fn size_to_come(path: &Path) -> Result<u64> {
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => Ok(metadata.len()),
        Ok(metadata) if metadata.is_dir() => Err(Error::io(path, std::io::ErrorKind::IsADirectory.into())),
        Ok(_) => Err(Error::unsupported("only regular files can be followed").in_file(path)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(Error::io(path, error)),
    }
}
