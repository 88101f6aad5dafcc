//! The protocol of the ring, which defines who may access which slot and when. `docs/design/012-channel.md` justifies each
//! ordering.
//!
//! Frames are counted from 0 through all epochs. The frame at *position* p lies in slot p modulo the number of slots. The
//! producer writes `head`, the position after the last published frame, and `tail`, the position of the first frame that
//! consumers may still pin. Each consumer writes its cursor: the position that it wants next, whether it sleeps, and its pins,
//! which are the positions of the frames that it holds. The producer writes a slot only if no pin is on it, and a consumer pins a
//! slot only if `tail` has not passed its frame. Both sides write, execute a fence, and then read what the other side wrote, so
//! that at least one of them sees the other.
//!
//! The producer skips a pinned slot and writes the frame into the next one. The position of a skipped slot has no frame. The
//! stamp of that slot still names the frame that a consumer holds there, so consumers pass over the position.

use std::time::Duration;

use super::atomic::{Alarm, AtomicU32, AtomicU64, N_PINS, Ordering, fence};

/// The word of a cursor that wants no frame.
pub(crate) const FREE: u64 = u64::MAX;
/// The value of a pin or a stamp without a position.
const NOWHERE: u64 = u64::MAX;
/// The flag of a consumer that takes only the newest frame, so that the producer never waits for it.
const LATEST: u64 = 1;
const SLEEPS: u64 = 2;
const SHIFT: u32 = 2;

/// State that the producer writes and all parties read.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub(crate) struct Control {
    /// The position after the last published frame.
    pub head: AtomicU64,
    /// The position of the first frame that consumers may pin.
    pub tail: AtomicU64,
    /// The number of frames that were overwritten before every consumer had seen them, or for which all slots were pinned.
    pub dropped: AtomicU64,
    /// The number of frames published into the ring.
    pub n_frames: AtomicU64,
    /// Rings when the producer publishes a frame or the end.
    pub arrival: Alarm,
    /// 1 while the producer sleeps, otherwise 0.
    pub sleeps: AtomicU32,
}

/// State that one consumer writes. It fills a cache line, so that consumers do not slow each other down.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Cursor {
    /// The position that the consumer wants next, with the flags for the newest frame only and for sleeping; or `FREE`.
    pub word: AtomicU64,
    /// The positions of the frames that the consumer holds; `NOWHERE` for an unused pin.
    pins: [AtomicU64; N_PINS],
}

impl Default for Cursor {
    fn default() -> Self {
        Cursor { word: AtomicU64::new(FREE), pins: std::array::from_fn(|_| AtomicU64::new(NOWHERE)) }
    }
}

impl Cursor {
    /// Resets the cursor, so that it wants and holds nothing.
    pub(crate) fn clear(&self) {
        self.pins.iter().for_each(|pin| pin.store(NOWHERE, Ordering::Release));
        self.word.store(FREE, Ordering::Release);
    }

    /// Returns whether the cursor wants and holds nothing.
    pub(crate) fn is_clear(&self) -> bool {
        let is_nowhere = |pin: &AtomicU64| pin.load(Ordering::Acquire) == NOWHERE;
        self.word.load(Ordering::Acquire) == FREE && self.pins.iter().all(is_nowhere)
    }

    /// Returns the position that is wanted next by a consumer for which the producer may have to wait.
    pub(crate) fn wanted(&self) -> Option<u64> {
        let word = self.word.load(Ordering::Acquire);
        (word != FREE && word & LATEST == 0).then_some(word >> SHIFT)
    }

    /// Returns whether the consumer of the cursor takes only the newest frame.
    pub(crate) fn takes_latest(&self) -> bool {
        let word = self.word.load(Ordering::Acquire);
        word != FREE && word & LATEST != 0
    }

    pub(crate) fn pinned(&self) -> impl Iterator<Item = u64> {
        self.pins.iter().map(|pin| pin.load(Ordering::Acquire)).filter(|position| *position != NOWHERE)
    }
}

/// State that the producer writes about each slot.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Stamp {
    /// The position of the frame in the slot.
    position: AtomicU64,
    /// The number of frames published before that frame.
    ordinal: AtomicU64,
}

impl Default for Stamp {
    fn default() -> Self {
        Stamp { position: AtomicU64::new(NOWHERE), ordinal: AtomicU64::new(0) }
    }
}

/// State that all consumers write.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub(crate) struct Room {
    /// Rings when a consumer gives a slot back while the producer sleeps.
    pub given_back: Alarm,
    /// The number of cursors that have been used. No party looks at the cursors after them.
    n_used: AtomicU64,
}

/// The shared state of a ring.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ring<'a> {
    /// State that the producer writes.
    pub control: &'a Control,
    /// State that all consumers write.
    pub room: &'a Room,
    /// The cursors, each written by one consumer.
    pub cursors: &'a [Cursor],
    /// The stamps, one for each slot, written by the producer.
    pub stamps: &'a [Stamp],
    /// The number of slots.
    pub n_slots: u64,
}

/// The reason why no slot is free for the next frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Full {
    /// A consumer has not yet taken the frame in the slot.
    Wanted,
    /// Consumers hold the frames of all slots.
    Held,
}

/// The outcome of a consumer's attempt to take a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Taken {
    /// The frame at this position is pinned.
    Frame {
        /// The position of the frame.
        position: u64,
        /// The number of frames published before it.
        ordinal: u64,
    },
    /// No frame is available yet.
    NotYet,
}

impl Ring<'_> {
    /// Returns the cursors that have been used.
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

    /// Repairs the state that a previous producer has left if it died while it published. Called by the producer.
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

    /// Frees a slot and returns the position of the frame to write into it. The producer calls this, and skips pinned slots. With
    /// `may_drop`, it overwrites frames that consumers have not seen, but never a pinned one.
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

    /// Publishes the frame that the producer has written into the claimed slot.
    pub(crate) fn publish(&self, position: u64) {
        let n_frames = self.control.n_frames.load(Ordering::Relaxed);
        let stamp = self.stamp(position);
        stamp.ordinal.store(n_frames, Ordering::Relaxed);
        stamp.position.store(position, Ordering::Relaxed);
        self.control.n_frames.store(n_frames + 1, Ordering::Relaxed);
        self.control.head.store(position + 1, Ordering::Release);
        self.ring_arrival();
    }

    /// Wakes the consumers when the producer has published a frame or the end.
    pub(crate) fn ring_arrival(&self) {
        self.control.arrival.ring(|| {
            self.used().iter().any(|cursor| {
                let word = cursor.word.load(Ordering::Relaxed);
                word != FREE && word & SLEEPS != 0
            })
        });
    }

    /// Lets the producer sleep until a consumer gives a slot back, unless `is_full` returns false.
    pub(crate) fn await_room(&self, is_full: impl FnOnce() -> bool, at_most: Duration) {
        let count = self.room.given_back.count();
        self.control.sleeps.store(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        if is_full() {
            self.room.given_back.sleep(count, at_most);
        }
        self.control.sleeps.store(0, Ordering::Relaxed);
    }

    /// Registers the consumer with cursor `number`, which wants the frame at `position` or the first available frame
    /// after it. Returns the position that it wants.
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

    /// Pins the frame at `position`, or the first one after it that was not overwritten. The consumer's wanted position stays the
    /// same.
    pub(crate) fn take(&self, cursor: &Cursor, pin: usize, position: u64) -> Taken {
        let mut wanted = position;
        while self.is_there(wanted) {
            cursor.pins[pin].store(wanted, Ordering::Release);
            fence(Ordering::SeqCst);
            let tail = self.control.tail.load(Ordering::Relaxed);
            if tail <= wanted && self.has_frame(wanted) {
                return Taken::Frame { position: wanted, ordinal: self.stamp(wanted).ordinal.load(Ordering::Relaxed) };
            }
            // At most as many positions as the ring has slots can precede the head.
            let first = self.control.head.load(Ordering::Acquire).saturating_sub(self.n_slots);
            wanted = tail.max(wanted + u64::from(tail <= wanted)).max(first);
            self.unpin(cursor, pin);
        }
        Taken::NotYet
    }

    /// Pins the newest frame if its position is `position` or a later one. Called by a consumer.
    pub(crate) fn take_newest(&self, cursor: &Cursor, pin: usize, position: u64) -> Taken {
        for _ in 0..self.n_slots {
            let head = self.control.head.load(Ordering::Acquire);
            if head <= position {
                break;
            }
            // The last position always has a frame. If the producer overwrites it before it is pinned, there are newer frames.
            if let taken @ Taken::Frame { .. } = self.take(cursor, pin, head - 1) {
                return taken;
            }
        }
        Taken::NotYet
    }

    /// Releases the frame of a pin. Called by a consumer.
    pub(crate) fn unpin(&self, cursor: &Cursor, pin: usize) {
        cursor.pins[pin].store(NOWHERE, Ordering::Release);
        self.tell_producer();
    }

    /// Sets the position that a consumer wants next, after it has pinned the frame before. This does not wake a producer that
    /// waits for the consumer; a following `unpin` or `tell_producer` does.
    pub(crate) fn want(&self, cursor: &Cursor, position: u64, takes_latest: bool) {
        cursor.word.store(word(position, takes_latest), Ordering::Release);
    }

    /// Returns the position to wait for after a consumer has found no frame from `position` on. Consumers do not wait for
    /// positions that the producer has given up.
    pub(crate) fn first_possible(&self, position: u64) -> u64 {
        position.max(self.control.tail.load(Ordering::Acquire))
    }

    /// Returns whether there are frames at `position` or after it.
    pub(crate) fn is_there(&self, position: u64) -> bool {
        self.control.head.load(Ordering::Acquire) > position
    }

    /// Returns whether consumers hold more than half of the slots, and more than one.
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

    /// Lets a consumer sleep until something arrives, unless the frame at `position` is available or `is_ended` finds the end.
    /// The consumer's pins stay.
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

    /// Takes a consumer out of the ring for now: it wants no frame. Its pins stay.
    pub(crate) fn leave(&self, cursor: &Cursor) {
        cursor.word.store(FREE, Ordering::Release);
        self.tell_producer();
    }

    /// Frees the cursor of a consumer that has left or was found dead.
    pub(crate) fn free(&self, cursor: &Cursor) {
        cursor.clear();
        self.tell_producer();
    }

    /// Wakes a producer that waits, after a consumer has given something back.
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
