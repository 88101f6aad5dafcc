//! Channels as sources: frames of a running simulation, read once, as they come.
//!
//! One consumer takes the frames, on whichever thread waits for one (`lookout`). Each is copied out of the ring at once, as far as
//! analyses can want it, and kept until the blocks before it are merged: so workers share what came once, the ring has its slot
//! back before anything is computed, and memory is bounded, as nothing is taken while too much is kept.

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

/// Frames taken in one look, at most: those that wait for one of them go on.
const FRAMES_AT_ONCE: usize = 64;

/// How a channel is read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// The first frame.
    pub start: Start,
    /// How long a frame may keep us waiting; `None` for as long as the producer is running.
    pub timeout: Option<Duration>,
    /// How long a producer that was lost has to come back.
    pub restart: Duration,
    /// Bytes of frames that are kept, about; what a run needs in any case is taken.
    pub memory: usize,
    /// Whether frames that were overwritten before they were taken are borne.
    pub bears_missed: bool,
    /// Whether frames of the run that had gone before the source joined are borne.
    pub bears_late: bool,
}

/// Frames that a source could not have.
#[derive(Debug, Default)]
struct Counts {
    n_missed: AtomicU64,
    n_late: AtomicU64,
}

/// A channel that is read.
pub struct ChannelSource {
    path: PathBuf,
    manifest: Manifest,
    n_atoms: usize,
    lookout: Lookout<Kept, Taker>,
    counts: Counts,
}

/// The consumer, and its patience.
struct Taker {
    consumer: CatchUp,
    settings: Settings,
    restart: Restart,
    /// For how long the next frame has been waited for: the times while somebody did.
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

    /// The channel's directory.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What holds for all frames.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Frames that were overwritten before they were taken.
    pub fn n_missed(&self) -> u64 {
        self.counts.n_missed.load(Ordering::Relaxed)
    }

    /// Frames of the run that had gone before the source joined.
    pub fn n_late(&self) -> u64 {
        self.counts.n_late.load(Ordering::Relaxed)
    }

    fn change(&self, change: impl FnOnce(&mut Kept)) {
        change(&mut self.lookout.known());
        self.lookout.notify();
    }

    /// Takes what has come, or waits for it, `at_most` so long.
    fn look(&self, taker: &mut Taker, at_most: Duration) {
        let known = self.lookout.known();
        if known.is_full() {
            // Until a run needs some frames no more.
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
    /// Takes frames that are there; waits `at_most` so long for the first.
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
