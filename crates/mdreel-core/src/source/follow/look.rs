//! Check of a growing file for new frames and for its end.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use super::alarm::Alarm;
use super::ending::Conditions;
use super::growing::{Growing, Refusal};
use super::settings::Settings;
use crate::error::{Error, Result};

/// How often who waits for the first frame is asked whether to go on.
const SLICE: Duration = Duration::from_millis(20);
/// How long one look goes from header to header before it lets others have what it found.
pub(super) const LONGEST_LOOK: Duration = Duration::from_millis(20);
/// Frames handed out together, at most.
pub(super) const FRAMES_AT_ONCE: usize = 1024;
/// For how long what is no frame may still become one: storage may show bytes in another order than they were written.
const SECOND_LOOK: Duration = Duration::from_millis(500);

/// What who looks remembers from one look to the next.
#[derive(Debug)]
pub(super) struct Look {
    pub(super) conditions: Conditions,
    pub(super) alarm: Alarm,
    pub(super) doubt: Doubt,
    /// The size at the look before.
    pub(super) size: u64,
    /// Whether it is time to look.
    pub(super) is_due: bool,
}

/// Since when something has been wrong at the same place.
#[derive(Debug, Default)]
pub(super) struct Doubt(Option<(u64, Instant)>);

impl Doubt {
    /// Whether what is wrong at `byte` has been so for too long to be mended.
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

/// The size of a file that may not be there yet.
fn size_to_come(path: &Path) -> Result<u64> {
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => Ok(metadata.len()),
        Ok(metadata) if metadata.is_dir() => Err(Error::io(path, std::io::ErrorKind::IsADirectory.into())),
        Ok(_) => Err(Error::unsupported("only regular files can be followed").in_file(path)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(Error::io(path, error)),
    }
}
