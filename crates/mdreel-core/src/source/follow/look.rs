//! Looking at a file that grows: what has come, and whether that was all.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use super::alarm::Alarm;
use super::ending::Conditions;
use super::growing::{Behind, Growing, Refusal};
use super::{Follow, Settings};
use crate::error::{Error, Result};
use crate::source::FrameLocation;
use crate::source::fault::Fault;

/// How often who waits for the first frame is asked whether to go on.
const SLICE: Duration = Duration::from_millis(20);
/// How long one look goes from header to header before it lets others have what it found.
const LONGEST_LOOK: Duration = Duration::from_millis(20);
/// Frames handed out together, at most.
const FRAMES_AT_ONCE: usize = 1024;
/// For how long what is no frame may still become one: storage may show bytes in another order than they were written.
const SECOND_LOOK: Duration = Duration::from_millis(500);

/// What who looks remembers from one look to the next.
#[derive(Debug)]
pub(super) struct Look {
    conditions: Conditions,
    alarm: Alarm,
    doubt: Doubt,
    /// The size at the look before.
    size: u64,
    /// Whether it is time to look.
    is_due: bool,
}

/// Since when something has been wrong at the same place.
#[derive(Debug, Default)]
struct Doubt(Option<(u64, Instant)>);

impl Doubt {
    /// Whether what is wrong at `byte` has been so for too long to be mended.
    fn is_certain(&mut self, byte: u64) -> bool {
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
            let message = format!("{}: no frame came within {} s", path.display(), timeout.as_secs_f64());
            return Err(Error::StreamTimeout(message));
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

/// Frames found one after another, where they end, and what stands behind them.
struct Found {
    frames: Vec<FrameLocation>,
    end: u64,
    rest: Behind,
}

impl Look {
    /// Looks, or waits until it is time to, `at_most` so long.
    pub(crate) fn look(&mut self, follow: &Follow, at_most: Duration) {
        if !self.is_due {
            self.is_due = self.alarm.wait(at_most);
            return;
        }
        let before = follow.known().index.end;
        if let Err(error) = self.see(follow) {
            follow.change(|known| known.failure = Some(error));
            return;
        }
        // As long as frames come, nobody waits.
        self.is_due = follow.known().index.end > before;
        if self.is_due {
            self.alarm.quicken();
        }
    }

    /// Takes note of what has come.
    fn see(&mut self, follow: &Follow) -> Result<()> {
        let said = self.conditions.said();
        let size = size_of(follow)?;
        let over = said.or(self.conditions.see(size));
        let (n_known, end) = {
            let known = follow.known();
            (known.index.len() as u64, known.index.end)
        };
        if size < end {
            let message = format!(
                "the file was cut: it had {n_known} whole frames, which end at byte {end}, and has {size} bytes now"
            );
            return Err(Error::format(&follow.path, None, Some(size), message));
        }
        // What other machines write may be shown in any order: it has the time from one look to the next to come.
        let shown = if self.alarm.is_polling() && over.is_none() { size.min(self.size) } else { size };
        self.size = size;
        let wanted = self.conditions.n_frames().unwrap_or(u64::MAX);
        let found = find(follow, n_known, end, shown, wanted)?;
        let n_frames = n_known + found.frames.len() as u64;
        if !found.frames.is_empty() {
            follow.change(|known| {
                known.index.extend(found.frames);
                known.index.end = found.end;
            });
        }
        if n_frames >= wanted {
            follow.end();
            return Ok(());
        }
        self.judge(follow, n_frames, found.end, found.rest, over)
    }

    /// Decides what it means that nothing, or no whole frame, stands behind the last of `n_frames` frames.
    fn judge(&mut self, follow: &Follow, n_frames: u64, end: u64, rest: Behind, over: Option<String>) -> Result<()> {
        let error = |fault: Fault, why: &str| {
            let Fault { byte, message } = fault;
            let message = format!("{message}; {n_frames} whole frames come before it{why}");
            Fault { byte, message }.error(&follow.path, Some(n_frames), end)
        };
        let because = |reason: String| format!(", and no more will come: {reason}");
        match (rest, over) {
            // More of the file is there to be looked at.
            (Behind::Frame(..), _) => Ok(()),
            (Behind::Wrong(fault), Some(reason)) => Err(error(fault, &because(reason))),
            (Behind::Wrong(fault), None) if self.doubt.is_certain(end) => Err(error(fault, "")),
            (Behind::Wrong(_), None) => Ok(()),
            (Behind::Torn(fault), Some(reason)) => Err(error(fault, &because(reason))),
            (Behind::Nothing, Some(reason)) => match self.conditions.n_frames() {
                Some(wanted) => Err(Error::Stream(format!(
                    "{}: {wanted} frames were expected, but only {n_frames} came: {reason}",
                    follow.path.display()
                ))),
                None => {
                    follow.end();
                    Ok(())
                }
            },
            (Behind::Torn(_) | Behind::Nothing, None) => {
                self.doubt = Doubt::default();
                Ok(())
            }
        }
    }
}

/// Finds frames from the `number`-th on, which starts at `at`, in the first `size` bytes.
fn find(follow: &Follow, number: u64, mut at: u64, size: u64, wanted: u64) -> Result<Found> {
    let began = Instant::now();
    let mut frames = Vec::new();
    loop {
        let next = number + frames.len() as u64;
        let rest = match follow.growing.behind(next, at, size) {
            // The file was cut since we have asked for its size: the next look will see that.
            Err(Error::Format { .. }) => Behind::Nothing,
            rest => rest?,
        };
        match rest {
            Behind::Frame(location, end)
                if next < wanted && frames.len() < FRAMES_AT_ONCE && began.elapsed() < LONGEST_LOOK =>
            {
                frames.push(location);
                at = end;
            }
            rest => return Ok(Found { frames, end: at, rest }),
        }
    }
}

/// The size of a file that may not be there yet.
fn size_to_come(path: &Path) -> Result<u64> {
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => Ok(metadata.len()),
        Ok(metadata) if metadata.is_dir() => Err(Error::io(path, std::io::ErrorKind::IsADirectory.into())),
        Ok(_) => Err(Error::Unsupported(format!("{}: only regular files can be followed", path.display()))),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(Error::io(path, error)),
    }
}

/// The size of the file, if it is still the one that is followed.
fn size_of(follow: &Follow) -> Result<u64> {
    use std::os::unix::fs::MetadataExt;

    let lost = |what: &str| {
        let n_frames = follow.known().index.len();
        let path = follow.path.display();
        Error::Stream(format!("{path}: the file was {what} while it was followed; {n_frames} frames had come"))
    };
    match std::fs::metadata(&follow.path) {
        Ok(metadata) if follow.growing.file().identity() == Some((metadata.dev(), metadata.ino())) => {
            Ok(metadata.len())
        }
        Ok(_) => Err(lost("replaced by another")),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(lost("removed")),
        Err(error) => Err(Error::io(&follow.path, error)),
    }
}
