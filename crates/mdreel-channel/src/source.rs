//! Channels as sources of frames of a running simulation. Each frame is read once, as it comes.
//!
//! One consumer takes the frames, on whichever thread waits for one (`lookout`). It copies the data that analyses can use out of
//! the ring at once and keeps it until the blocks before it are merged. Workers therefore share frames that were received once,
//! and the ring has its slot back before any computation. Memory is bounded, because the consumer takes no frame while too much
//! is kept.

mod as_source;
mod kept;
mod reader;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::catch_up::{CatchUp, Next};
use crate::consumer::Start;
use crate::end::End;
use crate::manifest::{Manifest, grouped};
use crate::participants;
use crate::restart::Restart;
use kept::{Frame, Kept};
use mdreel_core::error::{Error, Result};
use mdreel_core::source::lookout::{Known, Lookout};

/// The largest number of frames taken in one look. Threads that wait for one of them then go on.
const FRAMES_AT_ONCE: usize = 64;

/// Settings for reading a channel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// The position of the first frame.
    pub start: Start,
    /// The longest wait for a frame; `None` to wait for as long as the producer is running.
    pub timeout: Option<Duration>,
    /// The time within which a lost producer must come back.
    pub restart: Duration,
    /// The approximate limit of the bytes of kept frames. The source takes the frames that a run needs in any case.
    pub memory: usize,
    /// Whether to tolerate frames that were overwritten before the source took them.
    pub bears_missed: bool,
    /// Whether to tolerate frames of the run that had gone before the source joined.
    pub bears_late: bool,
}

/// Counts of the frames that a source could not get.
#[derive(Debug, Default)]
struct Counts {
    n_missed: AtomicU64,
    n_late: AtomicU64,
}

/// A channel that mdreel reads as a source.
pub struct ChannelSource {
    path: PathBuf,
    manifest: Manifest,
    n_atoms: usize,
    lookout: Lookout<Kept, Taker>,
    counts: Counts,
}

/// The consumer, with its settings and its waiting times.
struct Taker {
    consumer: CatchUp,
    settings: Settings,
    restart: Restart,
    /// For how long threads have waited for the next frame, as the sum of the times in which one did.
    waited: Duration,
}

impl ChannelSource {
    /// Joins the channel in a directory.
    pub fn join(path: &Path, settings: Settings) -> Result<Self> {
        let consumer = CatchUp::join(path, settings.start)?;
        let manifest = consumer.manifest().clone();
        let n_atoms = usize::try_from(manifest.n_atoms).ok().filter(|n_atoms| u32::try_from(*n_atoms).is_ok());
        let Some(n_atoms) = n_atoms else {
            let message = format!("expected at most {} atoms, got {}", u32::MAX, manifest.n_atoms);
            return Err(Error::format(path, None, None, message));
        };
        let restart = Restart::within(settings.restart);
        let taker = Taker { consumer, settings, restart, waited: Duration::ZERO };
        let lookout = Lookout::new(Kept::new(settings.memory), taker);
        Ok(ChannelSource { path: path.to_owned(), manifest, n_atoms, lookout, counts: Counts::default() })
    }

    /// Returns the directory of the channel.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the properties that all frames share.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Returns the number of frames that were overwritten before the source took them.
    pub fn n_missed(&self) -> u64 {
        self.counts.n_missed.load(Ordering::Relaxed)
    }

    /// Returns the number of frames of the run that had gone before the source joined.
    pub fn n_late(&self) -> u64 {
        self.counts.n_late.load(Ordering::Relaxed)
    }

    fn change(&self, change: impl FnOnce(&mut Kept)) {
        change(&mut self.lookout.known());
        self.lookout.notify();
    }

    /// Takes the frames that have come, or waits at most `at_most` for the first one.
    fn look(&self, taker: &mut Taker, at_most: Duration) {
        let known = self.lookout.known();
        if known.is_full() {
            // Waits until a run no longer needs some of the frames.
            return self.lookout.wait(known, at_most);
        }
        let n_before = known.n_frames();
        drop(known);
        let began = Instant::now();
        let mut outcome = taker.take(self, at_most);
        let known = self.lookout.known();
        let (n_frames, is_ended) = (known.n_frames(), known.is_ended());
        drop(known);
        taker.waited = if n_frames > n_before { Duration::ZERO } else { taker.waited + began.elapsed() };
        let timeout = taker.settings.timeout.filter(|timeout| !is_ended && taker.waited >= *timeout);
        if outcome.is_ok()
            && let Some(timeout) = timeout
        {
            let producer = participants::producer_of(&self.path);
            let message = format!("nothing came for {} s; {producer} is running", timeout.as_secs_f64());
            outcome = Err(Error::stream_timeout(message).at_frame(n_frames).in_file(&self.path));
        }
        if let Err(error) = outcome {
            self.change(|known| known.fail(error));
        }
    }

    fn end(&self, end: End) {
        self.change(|known| match end {
            End::Finished | End::Stopped => known.end(),
            End::Failed(reason) => {
                let n_frames = known.n_frames();
                let message = format!("the simulation has failed after {n_frames} frames: {reason}");
                known.fail(Error::stream(message).in_file(&self.path));
            }
        });
    }
}

impl Taker {
    /// Takes the available frames, and waits at most `at_most` for the first one.
    fn take(&mut self, channel: &ChannelSource, at_most: Duration) -> Result<()> {
        let mut at_most = at_most;
        for _ in 0..FRAMES_AT_ONCE {
            let (time, frame) = match self.consumer.next(at_most) {
                Ok(Next::Frame(found)) => {
                    let is_wanted = channel.lookout.known().wants_next();
                    let copy = || Frame::copy(&channel.path, channel.n_atoms, &found.view()?);
                    (found.header().time, is_wanted.then(copy).transpose()?)
                }
                Ok(Next::End(end)) => {
                    channel.end(end);
                    return Ok(());
                }
                Err(error) if self.restart.bears(&error) => return Ok(()),
                Err(error) => return Err(error),
            };
            self.restart.forget();
            self.check_missed(channel)?;
            let mut known = channel.lookout.known();
            known.push(time, frame);
            if known.is_full() {
                break;
            }
            drop(known);
            at_most = Duration::ZERO;
        }
        Ok(())
    }

    fn check_missed(&self, channel: &ChannelSource) -> Result<()> {
        let (missed, n_late) = (self.consumer.missed(), self.consumer.n_late());
        channel.counts.n_missed.store(missed, Ordering::Relaxed);
        channel.counts.n_late.store(n_late, Ordering::Relaxed);
        if n_late > 0 && !self.settings.bears_late {
            let found = format!("{} frames had left the channel before this reader joined", grouped(n_late));
            let advice = "let readers join before the first frame (await_consumers), or give the producer a staging";
            return Err(Error::stream(format!("{found}: {advice}")).at_frame(0).in_file(&channel.path));
        }
        if missed == 0 || self.settings.bears_missed {
            return Ok(());
        }
        let n_frames = channel.lookout.known().n_frames();
        let message = format!("{missed} frames were overwritten before they were taken");
        Err(Error::stream(message).at_frame(n_frames).in_file(&channel.path))
    }
}
