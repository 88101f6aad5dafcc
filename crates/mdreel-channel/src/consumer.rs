//! The consumer of a channel, with which an analysis reads its frames.

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
/// The time for which a consumer polls before it sleeps. It is about as long as falling asleep and being woken takes.
const SPIN: Duration = Duration::from_micros(5);

/// The result of `find`. The caller has to give the frame back.
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
    /// The file of the lock that shows that this consumer is alive.
    locks: Locks,
    manifest: Manifest,
    cursor: usize,
    /// Whether the consumer takes only the newest frame.
    takes_latest: bool,
    /// The position of the frame that is wanted next.
    position: u64,
    /// The number of frames that were published before that position.
    ordinal: u64,
    /// The frame that is borrowed, if there is one.
    borrowed: Option<Pinned>,
    /// Whether each pin belongs to a frame that is held while later ones are taken.
    held: [bool; N_PINS],
    /// Whether the consumer has left the ring for now.
    is_away: bool,
    missed: Missed,
    start: Start,
    /// The epoch and the step of the last frame that was handed out.
    last: Option<(u64, i64)>,
}

/// A frame that is pinned, so that the producer does not overwrite it.
#[derive(Debug)]
pub(super) struct Pinned {
    /// The position of the frame.
    position: u64,
    /// The number of the pin.
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

    /// Returns the properties that all frames share.
    pub(crate) fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Returns the number of frames that this consumer should have received but has not. They were overwritten first, were skipped
    /// for a newer frame, or never were in the ring.
    pub(crate) fn missed(&self) -> u64 {
        self.missed.n
    }

    /// Returns the number of mapped bytes.
    pub fn n_bytes(&self) -> usize {
        self.ring.n_bytes()
    }

    fn cursor(&self) -> &Cursor {
        &self.ring.protocol().cursors[self.cursor]
    }

    /// Returns a pin that is not in use. `hold` always leaves one.
    fn free_pin(&self) -> usize {
        self.held.iter().position(|is_held| !is_held).unwrap_or(N_PINS - 1)
    }

    /// Holds the borrowed frame until `let_go` is called with its pin. Returns `None` and does nothing if this would leave too few
    /// pins for this consumer, or too few slots for new frames.
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

    /// Returns the number of frames that are held.
    pub(super) fn n_held(&self) -> usize {
        self.held.iter().filter(|is_held| **is_held).count()
    }

    /// Returns the ring, for frames that outlive a borrow of the consumer.
    pub(super) fn ring(&self) -> Arc<RingFile> {
        Arc::clone(&self.ring)
    }

    /// Finds the next frame as `next` does. The frame stays borrowed until `give_back`.
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

    /// Borrows the next frame in the ring, even if this consumer skips it. Returns `None` if it is not available yet.
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

    /// Returns the header of the next frame in the ring, which stays the next one. Returns `None` if it is not available yet.
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

    /// Borrows the frame with this sequence number out of order. Returns `None` if the ring does not have it any more.
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

    /// Borrows the frame at a position, which this pin protects, and returns its header. The caller also has to give the pin back
    /// after an error.
    fn borrow(&mut self, position: u64, pin: usize) -> Result<Header> {
        let mapped = self.segments.find(&self.ring, position);
        self.borrowed = Some(Pinned { position, pin, mapped: None });
        if let Some(borrowed) = &mut self.borrowed {
            borrowed.mapped = mapped?;
        }
        FrameView::decode(&self.path, self.bytes()).map(|view| view.header)
    }

    /// Returns the bytes of the borrowed frame.
    pub(super) fn bytes(&self) -> &[u8] {
        // SAFETY: the position is pinned. The pin cannot be given back while the bytes are borrowed from the consumer.
        self.borrowed.as_ref().map_or(&[], |pinned| unsafe { pinned.bytes(&self.ring) })
    }

    /// Records the frame that is handed out. No later frame is before the start.
    pub(super) fn note(&mut self, header: &Header) {
        self.start = Start::Earliest;
        self.last = Some((header.epoch, header.step));
    }

    /// Returns an error in a forked child, which must not use the consumer.
    pub(super) fn check(&self) -> Result<()> {
        self.locks.check()
    }

    /// Sets the epoch and the step of the last frame that was handed out.
    pub(super) fn set_last(&mut self, last: Option<(u64, i64)>) {
        self.last = last;
    }

    /// Returns the number of the frame that is published next.
    pub(super) fn sequence(&self) -> u64 {
        self.ring.head().sequence.load(Ordering::Acquire)
    }

    /// Returns whether this consumer skips a frame: it is before the start, a later epoch repeats it, or the consumer has received
    /// its step in an earlier epoch.
    pub(super) fn is_skipped(&self, header: &Header) -> bool {
        let is_seen = self.last.is_some_and(|(epoch, step)| {
            // The steps of a new run are unrelated to the earlier ones.
            let is_new_run = || self.resume_steps(epoch, header.epoch).any(|resume_step| resume_step == i64::MIN);
            epoch < header.epoch && header.step <= step && !is_new_run()
        });
        is_seen || self.is_redone(header.epoch, header.step) || self.is_before_start(header)
    }

    /// Returns whether a frame is before the start of this consumer.
    pub(super) fn is_before_start(&self, header: &Header) -> bool {
        self.start.is_before(header)
    }

    /// Returns whether an epoch after `epoch` begins at this step or before it.
    pub(super) fn is_redone(&self, epoch: u64, step: i64) -> bool {
        let current = self.ring.head().epoch.load(Ordering::Acquire);
        self.resume_steps(epoch, current).any(|resume_step| resume_step <= step)
    }

    /// Returns how many of the numbers from `from` to before `to` stand for frames that should have come.
    pub(super) fn n_missing(&self, from: u64, to: u64) -> u64 {
        epochs::n_missing(self.ring.head(), from, to)
    }

    /// Returns the number of the frame with which the run of an epoch began.
    pub(super) fn first_of_run(&self, epoch: u64) -> u64 {
        epochs::run_of(self.ring.head(), epoch).first
    }

    /// Returns the resume steps of the epochs after `epoch`, up to `last`.
    fn resume_steps(&self, epoch: u64, last: u64) -> impl Iterator<Item = i64> {
        let later = epoch.saturating_add(1)..=last.min(MOST_EPOCHS as u64 - 1);
        let steps = later.filter_map(|epoch| self.ring.head().resume_steps.get(epoch as usize));
        steps.map(|resume_step| resume_step.load(Ordering::Relaxed).cast_signed())
    }

    /// Gives back the borrowed frame, if there is one.
    pub(super) fn give_back(&mut self) {
        // A forked child has a copy of this value, but the cursor belongs to its parent.
        if let Some(pinned) = self.borrowed.take()
            && self.locks.is_ours()
        {
            self.ring.protocol().unpin(self.cursor(), pinned.pin);
        }
    }

    /// Leaves the ring, so that the producer does not wait for this consumer. Frames that are held stay pinned.
    pub(super) fn leave_ring(&mut self) {
        self.give_back();
        if self.locks.is_ours() {
            self.ring.protocol().leave(self.cursor());
            self.is_away = true;
        }
    }

    /// Enters the ring again, at its first frame.
    pub(super) fn enter_ring(&mut self) -> Result<()> {
        self.locks.check()?;
        if std::mem::take(&mut self.is_away) {
            self.begin(false);
        }
        Ok(())
    }

    /// Waits for the next frame, and returns the end if there is one. Also returns when the frame with the number `wanted` was
    /// published outside the ring.
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
        // The cursor is freed before the lock, which is released when its file is closed.
        if self.locks.is_ours() {
            self.ring.protocol().free(self.cursor());
        }
    }
}
