//! Checks of a followed file: they find new frames and detect the end of the file.

use std::time::{Duration, Instant};

use super::Follow;
use super::growing::Behind;
use super::look::{Doubt, FRAMES_AT_ONCE, LONGEST_LOOK, Look};
use crate::error::{Error, Result};
use crate::source::FrameLocation;
use crate::source::bytes::identity_and_size;
use crate::source::fault::Fault;

/// Consecutive frames, their end, and what follows them.
struct Found {
    frames: Vec<FrameLocation>,
    end: u64,
    rest: Behind,
}

impl Look {
    /// Checks the file if a check is due. Otherwise it waits until one is due, for at most `at_most`.
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
        // While frames arrive, the next check is due immediately, so no worker waits.
        self.is_due = follow.known().index.end > before;
        if self.is_due {
            self.alarm.quicken();
        }
    }

    /// Records new frames.
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
        // Writes of other machines may appear in any order. With polling, bytes count one check later, so that all of
        // them have time to arrive.
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

    /// Decides what it means that no whole frame follows the last of `n_frames` frames.
    fn judge(&mut self, follow: &Follow, n_frames: u64, end: u64, rest: Behind, over: Option<String>) -> Result<()> {
        let error = |fault: Fault, why: &str| {
            let Fault { byte, message } = fault;
            let message = format!("{message}; {n_frames} whole frames come before it{why}");
            Fault { byte, message }.error(&follow.path, Some(n_frames), end)
        };
        let because = |reason: String| format!(", and no more will come: {reason}");
        match (rest, over) {
            // Another frame follows. The next check continues there.
            (Behind::Frame(..), _) => Ok(()),
            (Behind::Wrong(fault), Some(reason)) => Err(error(fault, &because(reason))),
            (Behind::Wrong(fault), None) if self.doubt.is_certain(end) => Err(error(fault, "")),
            (Behind::Wrong(_), None) => Ok(()),
            (Behind::Torn(fault), Some(reason)) => Err(error(fault, &because(reason))),
            (Behind::Nothing, Some(reason)) => match self.conditions.n_frames() {
                Some(wanted) => {
                    Err(Error::stream(format!("{wanted} frames were expected, but only {n_frames} came: {reason}"))
                        .in_file(&follow.path))
                }
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

/// Finds frames in the first `size` bytes. The first one has this `number` and starts at `at`.
fn find(follow: &Follow, number: u64, mut at: u64, size: u64, wanted: u64) -> Result<Found> {
    let began = Instant::now();
    let mut frames = Vec::new();
    loop {
        let next = number + frames.len() as u64;
        let rest = match follow.growing.behind(next, at, size) {
            // The file was truncated after its size was read. The next check will notice this.
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

/// Returns the size of the file, if `path` still refers to the followed file.
fn size_of(follow: &Follow) -> Result<u64> {
    let lost = |what: &str| {
        let n_frames = follow.known().index.len();
        Error::stream(format!("the file was {what} while it was followed; {n_frames} frames had come"))
            .in_file(&follow.path)
    };
    match identity_and_size(&follow.path) {
        Ok((identity, size)) if follow.growing.file().identity() == Some(identity) => Ok(size),
        Ok(_) => Err(lost("replaced by another")),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Err(lost("removed")),
        Err(error) => Err(Error::io(&follow.path, error)),
    }
}
