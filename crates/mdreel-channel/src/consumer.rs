//! A consumer of a channel: the analysis' side.

mod borrowed;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::atomic::Ordering;
use super::directory::Directory;
use super::end::End;
use super::layout::{FrameView, Header};
use super::lock::{Locks, PRODUCER};
use super::manifest::Manifest;
use super::missed::Missed;
use super::protocol::{Cursor, Taken};
use super::ring_file::{MOST_EPOCHS, N_CURSORS, RingFile};
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

/// One who takes each frame of a channel.
#[derive(Debug)]
pub struct Consumer {
    path: PathBuf,
    ring: Arc<RingFile>,
    /// Holds the lock that says that this consumer lives.
    locks: Locks,
    manifest: Manifest,
    cursor: usize,
    /// The frame that is wanted next, or borrowed by itself.
    position: u64,
    /// Frames before it that are held: borrowed, while later ones are taken.
    held: BTreeSet<u64>,
    /// Where to go on behind a frame that was borrowed out of turn.
    behind: Option<u64>,
    /// Whether it has left the ring for now.
    is_away: bool,
    missed: Missed,
    start: Start,
    /// The last step that was handed out, and its epoch.
    last: Option<(u64, i64)>,
}

impl Consumer {
    /// Joins the channel in a directory, which may have no producer any more.
    pub fn join(path: &Path, start: Start) -> Result<Self> {
        let directory = Directory::open(path)?;
        let ring = RingFile::open(&directory, false)?;
        ring.populate();
        let manifest = Manifest::read(&directory)?;
        let locks = Locks::open(&directory, "lock", false)?;
        let mut free = None;
        for cursor in 0..N_CURSORS {
            if locks.take(PRODUCER + 1 + cursor as u64)? {
                free = Some(cursor);
                break;
            }
        }
        let Some(cursor) = free else {
            return Err(Error::stream(format!("the channel has {N_CURSORS} consumers")).in_file(path));
        };
        let position = {
            let ring = ring.protocol();
            let from = if start == Start::Latest { &ring.control.head } else { &ring.control.tail };
            ring.join(&ring.cursors[cursor], from.load(Ordering::Acquire))
        };
        let (path, ring, held, behind) = (path.to_owned(), Arc::new(ring), BTreeSet::new(), None);
        let (is_away, missed, last) = (false, Missed::default(), None);
        Ok(Consumer { path, ring, locks, manifest, cursor, position, held, behind, is_away, missed, start, last })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// What holds for all frames.
    pub(crate) fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Frames that were overwritten before this consumer took them.
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

    /// Holds the frame that is borrowed until `let_go` is told its position: later ones can be taken meanwhile, as long as the ring
    /// has slots for them. `None`, and nothing done, for one that was borrowed out of turn.
    pub(super) fn hold(&mut self) -> Option<u64> {
        let position = self.position;
        if self.behind.is_some() || !self.held.insert(position) {
            return None;
        }
        self.position = position + 1;
        Some(position)
    }

    /// Gives back a frame that is held.
    pub(super) fn let_go(&mut self, position: u64) {
        let is_oldest = self.held.first() == Some(&position);
        self.held.remove(&position);
        if is_oldest {
            self.put_back();
        }
    }

    /// How many frames are held.
    pub(super) fn n_held(&self) -> usize {
        self.held.len()
    }

    /// The ring, for who holds frames of it.
    pub(super) fn ring(&self) -> Arc<RingFile> {
        Arc::clone(&self.ring)
    }

    /// Refuses to wait for a frame for which there is no slot as long as the oldest one is held.
    fn check_room(&self) -> Result<()> {
        let n_slots = self.ring.geometry().n_slots;
        match self.held.first() {
            Some(oldest) if self.position - oldest >= n_slots => Err(Error::mismatch(format!(
                "a frame is still in use that came {n_slots} frames ago, and the ring has no more slots: copy what is \
                 to be kept"
            ))
            .in_file(&self.path)),
            _ => Ok(()),
        }
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
        let Taken::Frame { position, missed } = self.take() else {
            return Ok(None);
        };
        self.position = position;
        let header = self.header();
        match &header {
            Ok(header) => self.missed.count(header, missed),
            Err(_) => self.give_back(),
        }
        header.map(Some)
    }

    /// Borrows the next frame. Behind one that is held it is borrowed with that.
    fn take(&self) -> Taken {
        let ring = self.ring.protocol();
        match self.held.is_empty() {
            true => ring.take(self.cursor(), self.position),
            false if ring.is_there(self.position) => Taken::Frame { position: self.position, missed: 0 },
            false => Taken::NotYet,
        }
    }

    /// Borrows the frame with this sequence number out of turn; `None` if the ring does not have it any more.
    pub(super) fn look_back(&mut self, sequence: u64) -> Result<Option<Header>> {
        self.locks.check()?;
        let behind = self.position;
        self.position = self.ring.protocol().control.tail.load(Ordering::Acquire);
        while let Taken::Frame { position, .. } = self.ring.protocol().take_back(self.cursor(), self.position) {
            self.position = position;
            let header = self.header();
            if header.as_ref().is_ok_and(|header| header.sequence < sequence) {
                self.give_back();
                continue;
            }
            self.behind = Some(behind);
            if header.as_ref().is_ok_and(|header| header.sequence == sequence) {
                return header.map(Some);
            }
            self.give_back();
            return header.map(|_| None);
        }
        self.position = behind;
        self.put_back();
        Ok(None)
    }

    /// The header of the frame that is borrowed.
    fn header(&self) -> Result<Header> {
        FrameView::decode(&self.path, self.bytes()).map(|view| view.header)
    }

    /// The bytes of the frame that is borrowed.
    pub(super) fn bytes(&self) -> &[u8] {
        // SAFETY: the position is borrowed, and is not given back as long as this is borrowed from the consumer.
        unsafe { self.ring.frame(self.position) }
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
        is_seen || self.is_redone(header.epoch, header.step) || self.start.is_before(header)
    }

    /// Whether a later epoch begins at this step or before it.
    pub(super) fn is_redone(&self, epoch: u64, step: i64) -> bool {
        let current = self.ring.head().epoch.load(Ordering::Acquire);
        self.resume_steps(epoch, current).any(|resume_step| resume_step <= step)
    }

    /// With which steps the epochs begin that come after `epoch`, up to `last`.
    fn resume_steps(&self, epoch: u64, last: u64) -> impl Iterator<Item = i64> {
        let later = epoch.saturating_add(1)..=last.min(MOST_EPOCHS as u64 - 1);
        let steps = later.filter_map(|epoch| self.ring.head().resume_steps.get(epoch as usize));
        steps.map(|resume_step| resume_step.load(Ordering::Relaxed).cast_signed())
    }

    /// Gives the frame back that is borrowed, and wants the next.
    pub(super) fn give_back(&mut self) {
        self.position = self.behind.take().unwrap_or(self.position + 1);
        self.put_back();
    }

    /// Gives the frame back that is borrowed, and wants it still: puts the cursor to the first frame that is held, or to the next
    /// that is wanted.
    pub(super) fn put_back(&self) {
        // A forked child has a copy of this, but the cursor is its parent's.
        if !self.locks.is_ours() {
            return;
        }
        match self.held.first() {
            Some(&oldest) => self.ring.protocol().hold(self.cursor(), oldest),
            None => self.ring.protocol().give_back(self.cursor(), self.position),
        }
    }

    /// Leaves the ring, which then need not wait for this consumer. Who holds frames of it stays.
    pub(super) fn leave_ring(&mut self) {
        if self.held.is_empty() && self.locks.is_ours() {
            self.ring.protocol().free(self.cursor());
            self.is_away = true;
        }
    }

    /// Enters the ring again, at the first frame that it has.
    pub(super) fn enter_ring(&mut self) -> Result<()> {
        self.locks.check()?;
        if !std::mem::take(&mut self.is_away) {
            return Ok(());
        }
        let ring = self.ring.protocol();
        let first = ring.control.tail.load(Ordering::Acquire);
        self.position = ring.join(self.cursor(), first);
        Ok(())
    }

    /// Waits for the next frame; returns the end if there is one. Returns as well when the frame with the number `wanted` was
    /// published without the ring.
    pub(super) fn wait(&self, at_most: Duration, wanted: Option<u64>) -> Result<Option<End>> {
        let (ring, head) = (self.ring.protocol(), self.ring.head());
        let is_elsewhere = || wanted.is_some_and(|wanted| self.sequence() > wanted);
        let is_there = || ring.is_there(self.position) || is_elsewhere();
        if !is_elsewhere() {
            self.check_room()?;
        }
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
                let message = "the producer was lost: it has died without an end record";
                return Err(Error::stream(message).at_frame(next).in_file(&self.path));
            }
            let left = at_most.saturating_sub(begin.elapsed());
            if left.is_zero() {
                let next = self.position;
                let message = format!("nothing came within {at_most:?}, and the producer is running");
                return Err(Error::stream_timeout(message).at_frame(next).in_file(&self.path));
            }
            let places = (self.position, self.held.first().copied());
            let is_over = || End::read(head).is_some() || is_elsewhere();
            ring.await_arrival(self.cursor(), places, is_over, left.min(LOOK));
            if is_there() {
                return Ok(None);
            }
        }
    }
}

impl Drop for Consumer {
    fn drop(&mut self) {
        // Before the lock goes, which happens when its file is closed.
        self.held.clear();
        self.leave_ring();
    }
}
