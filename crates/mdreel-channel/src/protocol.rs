//! The protocol of the ring: who may touch which slot when. `docs/design/012-channel.md` argues each ordering.
//!
//! Frames are counted from 0 through all epochs: the frame at *position* p lies in slot p modulo the number of slots. The
//! producer writes `head`, the position behind the last frame that is there, and `tail`, the position of the first that may still
//! be pinned. Each consumer writes its cursor: the position that it wants next, whether it sleeps, and its pins, the positions of
//! the frames that it holds. A slot is written only when no pin is on it, and pinned only if `tail` has not passed its frame: both
//! sides write, fence, and look at what the other wrote, so that at least one of them sees the other.
//!
//! The producer skips a slot that is pinned, and puts the frame into the next one. The position of the slot that was skipped has no
//! frame: its stamp still names the frame that is held there, so that consumers pass it.

use std::time::Duration;

use super::atomic::{Alarm, AtomicU32, AtomicU64, N_PINS, Ordering, fence};

/// A cursor that wants nothing.
pub(crate) const FREE: u64 = u64::MAX;
/// No position.
const NOWHERE: u64 = u64::MAX;
/// The consumer takes only the newest frame, so that nobody waits for it.
const LATEST: u64 = 1;
const SLEEPS: u64 = 2;
const SHIFT: u32 = 2;

/// What the producer writes, and everybody reads.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub(crate) struct Control {
    /// The position behind the last frame that is there.
    pub head: AtomicU64,
    /// The position of the first frame that may be pinned.
    pub tail: AtomicU64,
    /// Frames that were overwritten before every consumer had seen them, or for which all slots were pinned.
    pub dropped: AtomicU64,
    /// Frames that the ring has got.
    pub n_frames: AtomicU64,
    /// Rings when there is a frame, or the end.
    pub arrival: Alarm,
    /// Whether the producer sleeps.
    pub sleeps: AtomicU32,
}

/// What one consumer writes; a cache line, so that consumers do not slow each other down.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Cursor {
    /// The position that is wanted next, whether the consumer takes only the newest frame, and whether it sleeps; or `FREE`.
    pub word: AtomicU64,
    /// Positions of the frames that it holds; or `NOWHERE`.
    pins: [AtomicU64; N_PINS],
}

impl Default for Cursor {
    fn default() -> Self {
        Cursor { word: AtomicU64::new(FREE), pins: std::array::from_fn(|_| AtomicU64::new(NOWHERE)) }
    }
}

impl Cursor {
    /// Makes it one that wants and holds nothing.
    pub(crate) fn clear(&self) {
        self.pins.iter().for_each(|pin| pin.store(NOWHERE, Ordering::Release));
        self.word.store(FREE, Ordering::Release);
    }

    /// Whether it wants or holds nothing.
    pub(crate) fn is_clear(&self) -> bool {
        let is_nowhere = |pin: &AtomicU64| pin.load(Ordering::Acquire) == NOWHERE;
        self.word.load(Ordering::Acquire) == FREE && self.pins.iter().all(is_nowhere)
    }

    /// The position that is wanted next by a consumer for which the producer may have to wait.
    pub(crate) fn wanted(&self) -> Option<u64> {
        let word = self.word.load(Ordering::Acquire);
        (word != FREE && word & LATEST == 0).then_some(word >> SHIFT)
    }

    /// Whether its consumer takes only the newest frame.
    pub(crate) fn takes_latest(&self) -> bool {
        let word = self.word.load(Ordering::Acquire);
        word != FREE && word & LATEST != 0
    }

    pub(crate) fn pinned(&self) -> impl Iterator<Item = u64> {
        self.pins.iter().map(|pin| pin.load(Ordering::Acquire)).filter(|position| *position != NOWHERE)
    }
}

/// What the producer writes about each slot.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Stamp {
    /// The position of the frame in it.
    position: AtomicU64,
    /// How many frames the ring had got before it.
    ordinal: AtomicU64,
}

impl Default for Stamp {
    fn default() -> Self {
        Stamp { position: AtomicU64::new(NOWHERE), ordinal: AtomicU64::new(0) }
    }
}

/// What consumers write together.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub(crate) struct Room {
    /// Rings when a slot was given back while the producer slept.
    pub given_back: Alarm,
    /// So many cursors have been used: nobody looks at those behind.
    n_used: AtomicU64,
}

/// A ring as its parties see it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ring<'a> {
    /// Written by the producer.
    pub control: &'a Control,
    /// Written by the consumers together.
    pub room: &'a Room,
    /// Written by one consumer each.
    pub cursors: &'a [Cursor],
    /// Written by the producer, one for each slot.
    pub stamps: &'a [Stamp],
    /// How many slots there are.
    pub n_slots: u64,
}

/// Why there is no slot for the next frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Full {
    /// A consumer has not yet taken the frame in it.
    Wanted,
    /// Consumers hold the frames of all slots.
    Held,
}

/// What a consumer found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Taken {
    /// The frame at this position is pinned.
    Frame {
        /// Its position.
        position: u64,
        /// How many frames the ring had got before it.
        ordinal: u64,
    },
    /// It is not there yet.
    NotYet,
}

impl Ring<'_> {
    /// The cursors that have been used.
    pub(crate) fn used(&self) -> &[Cursor] {
        let n_used = self.room.n_used.load(Ordering::Acquire);
        &self.cursors[..self.cursors.len().min(n_used as usize)]
    }

    fn stamp(&self, position: u64) -> &Stamp {
        &self.stamps[(position % self.n_slots) as usize]
    }

    pub(crate) fn has_frame(&self, position: u64) -> bool {
        self.stamp(position).position.load(Ordering::Relaxed) == position
    }

    fn is_pinned(&self, slot: u64) -> bool {
        self.used().iter().any(|cursor| cursor.pinned().any(|position| position % self.n_slots == slot))
    }

    /// The producer: puts right what one before it has left that died while it published.
    pub(crate) fn recover(&self) {
        let head = self.control.head.load(Ordering::Relaxed);
        for stamp in self.stamps {
            if stamp.position.load(Ordering::Relaxed) >= head {
                stamp.position.store(NOWHERE, Ordering::Relaxed);
            }
        }
        let n_frames = head.checked_sub(1).map_or(0, |last| self.stamp(last).ordinal.load(Ordering::Relaxed) + 1);
        self.control.n_frames.store(n_frames, Ordering::Relaxed);
    }

    /// The producer: makes a slot free to be written, and returns the position of the frame that comes there. Slots that are pinned
    /// are skipped. `may_drop` takes frames from consumers that have not seen them, but never one that is pinned.
    pub(crate) fn claim(&self, may_drop: bool) -> Result<u64, Full> {
        let control = self.control;
        let head = control.head.load(Ordering::Relaxed);
        for position in head..head + self.n_slots {
            let Some(limit) = (position + 1).checked_sub(self.n_slots).filter(|limit| *limit > 0) else {
                return Ok(position);
            };
            let slot = position % self.n_slots;
            let (mut first_wanted, mut is_pinned) = (NOWHERE, false);
            for cursor in self.used() {
                first_wanted = first_wanted.min(cursor.wanted().unwrap_or(NOWHERE));
                is_pinned |= cursor.pinned().any(|position| position % self.n_slots == slot);
            }
            if first_wanted < limit && !may_drop {
                return Err(Full::Wanted);
            }
            if is_pinned {
                continue;
            }
            let passed = control.tail.load(Ordering::Relaxed);
            if passed < limit {
                control.tail.store(limit, Ordering::Relaxed);
                let lost = passed.max(first_wanted)..limit;
                if !lost.is_empty() {
                    let n_lost = lost.filter(|position| self.has_frame(*position)).count();
                    control.dropped.fetch_add(n_lost as u64, Ordering::Relaxed);
                }
            }
            fence(Ordering::SeqCst);
            if !self.is_pinned(slot) {
                return Ok(position);
            }
        }
        Err(Full::Held)
    }

    /// The producer: the frame of the slot that was claimed is written.
    pub(crate) fn publish(&self, position: u64) {
        let n_frames = self.control.n_frames.load(Ordering::Relaxed);
        let stamp = self.stamp(position);
        stamp.ordinal.store(n_frames, Ordering::Relaxed);
        stamp.position.store(position, Ordering::Relaxed);
        self.control.n_frames.store(n_frames + 1, Ordering::Relaxed);
        self.control.head.store(position + 1, Ordering::Release);
        self.ring_arrival();
    }

    /// The producer: wakes the consumers, who find a frame or the end.
    pub(crate) fn ring_arrival(&self) {
        self.control.arrival.ring(|| {
            self.used().iter().any(|cursor| {
                let word = cursor.word.load(Ordering::Relaxed);
                word != FREE && word & SLEEPS != 0
            })
        });
    }

    /// The producer: sleeps until a consumer gives a slot back, unless `is_full` finds that one was.
    pub(crate) fn await_room(&self, is_full: impl FnOnce() -> bool, at_most: Duration) {
        let count = self.room.given_back.count();
        self.control.sleeps.store(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        if is_full() {
            self.room.given_back.sleep(count, at_most);
        }
        self.control.sleeps.store(0, Ordering::Relaxed);
    }

    /// A consumer that has come, and has the cursor of this number: wants the frame at `position`, or the first that is there.
    pub(crate) fn join(&self, number: usize, position: u64, takes_latest: bool) -> u64 {
        let cursor = &self.cursors[number];
        self.room.n_used.fetch_max(number as u64 + 1, Ordering::AcqRel);
        let mut position = position;
        loop {
            cursor.word.store(word(position, takes_latest), Ordering::Release);
            fence(Ordering::SeqCst);
            let tail = self.control.tail.load(Ordering::Relaxed);
            if tail <= position {
                return position;
            }
            position = tail;
        }
    }

    /// A consumer: pins the frame at `position`, or the first behind it that was not overwritten. It still wants that position.
    pub(crate) fn take(&self, cursor: &Cursor, pin: usize, position: u64) -> Taken {
        let mut wanted = position;
        while self.is_there(wanted) {
            cursor.pins[pin].store(wanted, Ordering::Release);
            fence(Ordering::SeqCst);
            let tail = self.control.tail.load(Ordering::Relaxed);
            if tail <= wanted && self.has_frame(wanted) {
                return Taken::Frame { position: wanted, ordinal: self.stamp(wanted).ordinal.load(Ordering::Relaxed) };
            }
            // No more than the slots of a ring can be behind the head.
            let first = self.control.head.load(Ordering::Acquire).saturating_sub(self.n_slots);
            wanted = tail.max(wanted + u64::from(tail <= wanted)).max(first);
            self.unpin(cursor, pin);
        }
        Taken::NotYet
    }

    /// A consumer: pins the newest frame, if it is that at `position` or a later one.
    pub(crate) fn take_newest(&self, cursor: &Cursor, pin: usize, position: u64) -> Taken {
        for _ in 0..self.n_slots {
            let head = self.control.head.load(Ordering::Acquire);
            if head <= position {
                break;
            }
            // The last position always has a frame. It may be overwritten before it is pinned, and then there are newer ones.
            if let taken @ Taken::Frame { .. } = self.take(cursor, pin, head - 1) {
                return taken;
            }
        }
        Taken::NotYet
    }

    /// A consumer: holds the frame of a pin no more.
    pub(crate) fn unpin(&self, cursor: &Cursor, pin: usize) {
        cursor.pins[pin].store(NOWHERE, Ordering::Release);
        self.tell_producer();
    }

    /// A consumer that has pinned what it wants: wants the frame at `position` from now on. Only what follows, an `unpin` or
    /// `tell_producer`, wakes a producer that waits for this.
    pub(crate) fn want(&self, cursor: &Cursor, position: u64, takes_latest: bool) {
        cursor.word.store(word(position, takes_latest), Ordering::Release);
    }

    /// The position to wait for if a consumer has found no frame from `position` on: frames that were given up are not
    /// waited for.
    pub(crate) fn first_possible(&self, position: u64) -> u64 {
        position.max(self.control.tail.load(Ordering::Acquire))
    }

    /// Whether there are frames at `position` or behind it.
    pub(crate) fn is_there(&self, position: u64) -> bool {
        self.control.head.load(Ordering::Acquire) > position
    }

    /// Whether consumers hold more than half of the slots, and more than one.
    pub(crate) fn is_scarce(&self) -> bool {
        let most = (self.n_slots / 2).max(1) as usize;
        let pinned = || self.used().iter().flat_map(Cursor::pinned);
        if pinned().count() <= most {
            return false;
        }
        let mut slots: Vec<u64> = pinned().map(|position| position % self.n_slots).collect();
        slots.sort_unstable();
        slots.dedup();
        slots.len() > most
    }

    /// A consumer: sleeps until something arrives, unless the frame at `position` is there or `is_ended` finds the end. It keeps
    /// what it holds.
    pub(crate) fn await_arrival(
        &self,
        cursor: &Cursor,
        (position, takes_latest): (u64, bool),
        is_ended: impl FnOnce() -> bool,
        at_most: Duration,
    ) {
        let word = word(position, takes_latest);
        let count = self.control.arrival.count();
        cursor.word.store(word | SLEEPS, Ordering::Release);
        fence(Ordering::SeqCst);
        if !self.is_there(position) && !is_ended() {
            self.control.arrival.sleep(count, at_most);
        }
        cursor.word.store(word, Ordering::Release);
    }

    /// A consumer: wants nothing for now. What it holds stays pinned.
    pub(crate) fn leave(&self, cursor: &Cursor) {
        cursor.word.store(FREE, Ordering::Release);
        self.tell_producer();
    }

    /// A cursor whose consumer has gone, or was found dead.
    pub(crate) fn free(&self, cursor: &Cursor) {
        cursor.clear();
        self.tell_producer();
    }

    /// Wakes a producer that waits for something that was given back just now.
    pub(crate) fn tell_producer(&self) {
        fence(Ordering::SeqCst);
        if self.control.sleeps.load(Ordering::Relaxed) != 0 {
            self.room.given_back.ring(|| true);
        }
    }
}

fn word(position: u64, takes_latest: bool) -> u64 {
    position << SHIFT | if takes_latest { LATEST } else { 0 }
}
