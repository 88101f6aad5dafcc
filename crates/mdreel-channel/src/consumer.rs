//! A consumer of a channel: the analysis' side.

mod borrowed;
mod joining;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::atomic::{N_PINS, Ordering};
use super::end::End;
use super::epochs;
use super::layout::{FrameView, Header};
use super::lock::{Locks, PRODUCER};
use super::loss;
use super::manifest::Manifest;
use super::missed::Missed;
use super::protocol::{Cursor, Taken};
use super::ring_file::{MOST_EPOCHS, RingFile};
use super::segment_maps::{MappedFrame, SegmentMaps};
pub use super::start::Start;
use mdreel_core::error::{Error, Result};

pub use borrowed::{Borrowed, Next};

/// The longest sleep before a consumer checks whether the producer is running.
const LOOK: Duration = Duration::from_millis(250);
/// So long a consumer looks again and again before it sleeps: about what falling asleep and being woken costs.
const SPIN: Duration = Duration::from_micros(5);

/// As `Next`, of a frame that who asks has to give back.
enum Found {
    Frame(Header),
    End(End),
}

/// A consumer of the frames of a channel.
#[derive(Debug)]
pub struct Consumer {
    path: PathBuf,
    ring: Arc<RingFile>,
    segments: SegmentMaps,
    /// Holds the lock that says that this consumer lives.
    locks: Locks,
    manifest: Manifest,
    cursor: usize,
    /// Whether it takes only the newest frame.
    takes_latest: bool,
    /// The frame that is wanted next.
    position: u64,
    /// How many frames the ring had got before that.
    ordinal: u64,
    /// The frame that is borrowed.
    borrowed: Option<Pinned>,
    /// Which pins keep frames that are held while later ones are taken.
    held: [bool; N_PINS],
    /// Whether it has left the ring for now.
    is_away: bool,
    missed: Missed,
    start: Start,
    /// The last step that was handed out, and its epoch.
    last: Option<(u64, i64)>,
}

/// A frame that the producer leaves as it is.
#[derive(Debug)]
pub(super) struct Pinned {
    /// Its position.
    position: u64,
    /// The pin.
    pub pin: usize,
    /// The frame, if it is in a segment of staging.
    mapped: Option<MappedFrame>,
}

impl Pinned {
    /// Returns the bytes of the frame.
    ///
    /// # Safety
    ///
    /// The pin is not given back as long as the bytes are borrowed.
    pub(super) unsafe fn bytes<'a>(&'a self, ring: &'a RingFile) -> &'a [u8] {
        match &self.mapped {
            // SAFETY: the caller keeps the pin.
            Some(mapped) => unsafe { mapped.bytes() },
            // SAFETY: as above.
            None => unsafe { ring.frame(self.position) },
        }
    }
}

impl Consumer {
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// What holds for all frames.
    pub(crate) fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Frames that were overwritten before this consumer took them, or that it has passed for a newer one.
    pub(crate) fn missed(&self) -> u64 {
        self.missed.n
    }

    /// How many bytes are mapped.
    pub fn n_bytes(&self) -> usize {
        self.ring.n_bytes()
    }

    fn cursor(&self) -> &Cursor {
        &self.ring.protocol().cursors[self.cursor]
    }

    /// A pin that keeps nothing: `hold` leaves one.
    fn free_pin(&self) -> usize {
        self.held.iter().position(|is_held| !is_held).unwrap_or(N_PINS - 1)
    }

    /// Holds the frame that is borrowed until `let_go` is told its pin. `None`, and nothing done, where consumers would then hold so
    /// many frames that too few slots are left for new ones.
    pub(super) fn hold(&mut self) -> Option<Pinned> {
        if self.n_held() + 2 > N_PINS || self.ring.protocol().is_scarce() {
            return None;
        }
        let pinned = self.borrowed.take()?;
        self.held[pinned.pin] = true;
        self.ring.protocol().tell_producer();
        Some(pinned)
    }

    /// Gives back a frame that is held.
    pub(super) fn let_go(&mut self, pin: usize) {
        self.held[pin] = false;
        if self.locks.is_ours() {
            self.ring.protocol().unpin(self.cursor(), pin);
        }
    }

    /// How many frames are held.
    pub(super) fn n_held(&self) -> usize {
        self.held.iter().filter(|is_held| **is_held).count()
    }

    /// The ring, for who holds frames of it.
    pub(super) fn ring(&self) -> Arc<RingFile> {
        Arc::clone(&self.ring)
    }

    /// As `next`; the frame stays borrowed until `give_back`.
    fn find(&mut self, at_most: Duration) -> Result<Found> {
        loop {
            let Some(header) = self.look()? else {
                match self.wait(at_most, None)? {
                    Some(end) => return Ok(Found::End(end)),
                    None => continue,
                }
            };
            if !self.is_skipped(&header) {
                self.note(&header);
                return Ok(Found::Frame(header));
            }
            self.give_back();
        }
    }

    /// Borrows the next frame in the ring, whether it is for this consumer or not; `None` if it is not there yet.
    pub(super) fn look(&mut self) -> Result<Option<Header>> {
        self.locks.check()?;
        let (ring, pin) = (self.ring.protocol(), self.free_pin());
        let taken = match self.takes_latest {
            true => ring.take_newest(self.cursor(), pin, self.position),
            false => ring.take(self.cursor(), pin, self.position),
        };
        let Taken::Frame { position, ordinal } = taken else {
            self.position = ring.first_possible(self.position);
            return Ok(None);
        };
        ring.want(self.cursor(), position + 1, self.takes_latest);
        let n_overwritten = ordinal.saturating_sub(self.ordinal);
        (self.position, self.ordinal) = (position + 1, ordinal + 1);
        let header = self.borrow(position, pin);
        match &header {
            Ok(header) => self.missed.count(self.ring.head(), header, n_overwritten),
            Err(_) => self.give_back(),
        }
        header.map(Some)
    }

    /// The header of the next frame in the ring, which stays the next one; `None` if it is not there yet.
    pub(super) fn peek(&mut self) -> Result<Option<Header>> {
        self.locks.check()?;
        let pin = self.free_pin();
        let Taken::Frame { position, .. } = self.ring.protocol().take(self.cursor(), pin, self.position) else {
            return Ok(None);
        };
        let header = self.borrow(position, pin);
        self.give_back();
        header.map(Some)
    }

    /// Borrows the frame with this sequence number out of turn; `None` if the ring does not have it any more.
    pub(super) fn look_back(&mut self, sequence: u64) -> Result<Option<Header>> {
        self.locks.check()?;
        let pin = self.free_pin();
        let mut next = self.ring.protocol().control.tail.load(Ordering::Acquire);
        while let Taken::Frame { position, .. } = self.ring.protocol().take(self.cursor(), pin, next) {
            let header = self.borrow(position, pin);
            if header.as_ref().is_ok_and(|header| header.sequence == sequence) {
                return header.map(Some);
            }
            self.give_back();
            if header?.sequence > sequence {
                break;
            }
            next = position + 1;
        }
        Ok(None)
    }

    /// Borrows the frame at a position, which this pin protects, and returns its header. After an error, the pin has to be given
    /// back as well.
    fn borrow(&mut self, position: u64, pin: usize) -> Result<Header> {
        let mapped = self.segments.find(&self.ring, position);
        self.borrowed = Some(Pinned { position, pin, mapped: None });
        if let Some(borrowed) = &mut self.borrowed {
            borrowed.mapped = mapped?;
        }
        FrameView::decode(&self.path, self.bytes()).map(|view| view.header)
    }

    /// The bytes of the frame that is borrowed.
    pub(super) fn bytes(&self) -> &[u8] {
        // SAFETY: the position is pinned, and is not given back as long as this is borrowed from the consumer.
        self.borrowed.as_ref().map_or(&[], |pinned| unsafe { pinned.bytes(&self.ring) })
    }

    /// Takes note of a frame that is handed out.
    pub(super) fn note(&mut self, header: &Header) {
        self.start = Start::Earliest;
        self.last = Some((header.epoch, header.step));
    }

    /// Refuses what a forked child must not do.
    pub(super) fn check(&self) -> Result<()> {
        self.locks.check()
    }

    /// Behaves as if the last frame that was handed out had this epoch and step.
    pub(super) fn set_last(&mut self, last: Option<(u64, i64)>) {
        self.last = last;
    }

    /// The number of the frame that is published next.
    pub(super) fn sequence(&self) -> u64 {
        self.ring.head().sequence.load(Ordering::Acquire)
    }

    /// Whether a frame is not for this consumer: before its start, redone by a later epoch, or seen in an earlier one.
    pub(super) fn is_skipped(&self, header: &Header) -> bool {
        let is_seen = self.last.is_some_and(|(epoch, step)| {
            // The steps of a new run are others.
            let is_new_run = || self.resume_steps(epoch, header.epoch).any(|resume_step| resume_step == i64::MIN);
            epoch < header.epoch && header.step <= step && !is_new_run()
        });
        is_seen || self.is_redone(header.epoch, header.step) || self.is_before_start(header)
    }

    /// Whether a frame is before the start of this consumer.
    pub(super) fn is_before_start(&self, header: &Header) -> bool {
        self.start.is_before(header)
    }

    /// Whether a later epoch begins at this step or before it.
    pub(super) fn is_redone(&self, epoch: u64, step: i64) -> bool {
        let current = self.ring.head().epoch.load(Ordering::Acquire);
        self.resume_steps(epoch, current).any(|resume_step| resume_step <= step)
    }

    /// How many of the numbers from `from` to before `to` stand for frames that should have come.
    pub(super) fn n_missing(&self, from: u64, to: u64) -> u64 {
        epochs::n_missing(self.ring.head(), from, to)
    }

    /// With which number the run of an epoch began.
    pub(super) fn first_of_run(&self, epoch: u64) -> u64 {
        epochs::run_of(self.ring.head(), epoch).first
    }

    /// With which steps the epochs begin that come after `epoch`, up to `last`.
    fn resume_steps(&self, epoch: u64, last: u64) -> impl Iterator<Item = i64> {
        let later = epoch.saturating_add(1)..=last.min(MOST_EPOCHS as u64 - 1);
        let steps = later.filter_map(|epoch| self.ring.head().resume_steps.get(epoch as usize));
        steps.map(|resume_step| resume_step.load(Ordering::Relaxed).cast_signed())
    }

    /// Gives the frame back that is borrowed.
    pub(super) fn give_back(&mut self) {
        // A forked child has a copy of this, but the cursor is its parent's.
        if let Some(pinned) = self.borrowed.take()
            && self.locks.is_ours()
        {
            self.ring.protocol().unpin(self.cursor(), pinned.pin);
        }
    }

    /// Leaves the ring, which then need not wait for this consumer. What is held stays.
    pub(super) fn leave_ring(&mut self) {
        self.give_back();
        if self.locks.is_ours() {
            self.ring.protocol().leave(self.cursor());
            self.is_away = true;
        }
    }

    /// Enters the ring again, at the first frame that it has.
    pub(super) fn enter_ring(&mut self) -> Result<()> {
        self.locks.check()?;
        if std::mem::take(&mut self.is_away) {
            self.begin(false);
        }
        Ok(())
    }

    /// Waits for the next frame; returns the end if there is one. Returns as well when the frame with the number `wanted` was
    /// published without the ring.
    pub(super) fn wait(&self, at_most: Duration, wanted: Option<u64>) -> Result<Option<End>> {
        let (ring, head) = (self.ring.protocol(), self.ring.head());
        let is_elsewhere = || wanted.is_some_and(|wanted| self.sequence() > wanted);
        let is_there = || ring.is_there(self.position) || is_elsewhere();
        let begin = Instant::now();
        while begin.elapsed() < SPIN.min(at_most) {
            if is_there() {
                return Ok(None);
            }
            std::hint::spin_loop();
        }
        loop {
            // Check first whether the producer is running, so that the checks below see everything that it wrote before it died.
            let is_alive = self.locks.is_taken(PRODUCER)?;
            let end = End::read(head);
            if is_there() {
                return Ok(None);
            }
            if end.is_some() {
                return Ok(end);
            }
            if !is_alive {
                let next = self.position;
                let reason = loss::reason(&self.path);
                if self.locks.is_taken(PRODUCER)? {
                    continue; // A new producer may have replaced the records.
                }
                let message = format!("the producer was lost: {reason}");
                return Err(Error::stream(message).at_frame(next).in_file(&self.path));
            }
            let left = at_most.saturating_sub(begin.elapsed());
            if left.is_zero() {
                let next = self.position;
                let message = format!("nothing came within {} s, and the producer is running", at_most.as_secs_f64());
                return Err(Error::stream_timeout(message).at_frame(next).in_file(&self.path));
            }
            let is_over = || End::read(head).is_some() || is_elsewhere();
            let wanted = (self.position, self.takes_latest);
            ring.await_arrival(self.cursor(), wanted, is_over, left.min(LOOK));
            if is_there() {
                return Ok(None);
            }
        }
    }
}

impl Drop for Consumer {
    fn drop(&mut self) {
        // Before the lock goes, which happens when its file is closed.
        if self.locks.is_ours() {
            self.ring.protocol().free(self.cursor());
        }
    }
}
