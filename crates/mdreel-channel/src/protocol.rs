//! The protocol of the ring: who may touch which slot when. `docs/design/012-channel.md` argues each ordering.
//!
//! Frames are counted from 0 through all epochs: the frame at *position* p lies in slot p modulo the number of slots. The
//! producer writes `head`, the position behind the last frame that is there, and `tail`, the position of the first that may still
//! be borrowed. Each consumer writes its cursor: the position that it wants next, whether it has borrowed it, and whether it
//! sleeps. A slot is written only when no cursor holds its frame, and borrowed only if `tail` has not passed it: both
//! sides write, fence, and look at what the other wrote, so that at least one of them sees the other.

use std::time::Duration;

use super::atomic::{Alarm, AtomicU32, AtomicU64, Ordering, fence};

/// A cursor that belongs to nobody.
pub(crate) const FREE: u64 = u64::MAX;
const BORROWED: u64 = 1;
const SLEEPS: u64 = 2;
const SHIFT: u32 = 2;

/// What the producer writes, and everybody reads.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub(crate) struct Control {
    /// The position behind the last frame that is there.
    pub head: AtomicU64,
    /// The position of the first frame that may be borrowed.
    pub tail: AtomicU64,
    /// Frames that were overwritten before every consumer had seen them.
    pub dropped: AtomicU64,
    /// Rings when there is a frame, or the end.
    pub arrival: Alarm,
    /// Whether the producer sleeps.
    pub sleeps: AtomicU32,
}

/// What one consumer writes; a cache line, so that consumers do not slow each other down.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Cursor {
    /// Position, whether it is borrowed, whether the consumer sleeps; or `FREE`.
    pub word: AtomicU64,
}

impl Default for Cursor {
    fn default() -> Self {
        Cursor { word: AtomicU64::new(FREE) }
    }
}

/// What consumers write together.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub(crate) struct Room {
    /// Rings when a slot was given back while the producer slept.
    pub given_back: Alarm,
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
    /// How many slots there are.
    pub n_slots: u64,
}

/// Why there is no slot for the next frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Full {
    /// A consumer has not yet taken the frame in it.
    Wanted,
    /// A consumer has borrowed it.
    Borrowed,
}

/// What a consumer found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Taken {
    /// The frame at this position is borrowed; `missed` frames before it were overwritten.
    Frame {
        /// Its position.
        position: u64,
        /// How many were overwritten between the one wanted and this.
        missed: u64,
    },
    /// It is not there yet.
    NotYet,
}

impl Ring<'_> {
    /// The producer: makes the slot of the next frame free to be written. `may_drop` takes it from consumers that have not
    /// seen it, but never from one that has borrowed it.
    pub(crate) fn claim(&self, may_drop: bool) -> Result<u64, Full> {
        let control = self.control;
        let head = control.head.load(Ordering::Relaxed);
        let Some(limit) = (head + 1).checked_sub(self.n_slots).filter(|limit| *limit > 0) else {
            return Ok(head);
        };
        let (mut is_wanted, mut is_lost) = (false, false);
        for cursor in self.cursors {
            let word = cursor.word.load(Ordering::Acquire);
            let is_behind = word != FREE && word >> SHIFT < limit;
            is_wanted |= is_behind;
            is_lost |= is_behind && word & BORROWED == 0;
        }
        if is_wanted && !may_drop {
            return Err(Full::Wanted);
        }
        let passed = control.tail.load(Ordering::Relaxed);
        if passed < limit {
            control.tail.store(limit, Ordering::Relaxed);
            if is_lost {
                control.dropped.fetch_add(limit - passed, Ordering::Relaxed);
            }
        }
        fence(Ordering::SeqCst);
        let is_borrowed = self.cursors.iter().any(|cursor| {
            let word = cursor.word.load(Ordering::Acquire);
            word != FREE && word & BORROWED != 0 && word >> SHIFT < limit
        });
        if is_borrowed { Err(Full::Borrowed) } else { Ok(head) }
    }

    /// The producer: the frame of the slot that was claimed is written.
    pub(crate) fn publish(&self, position: u64) {
        self.control.head.store(position + 1, Ordering::Release);
        self.ring_arrival();
    }

    /// The producer: wakes the consumers, who find a frame or the end.
    pub(crate) fn ring_arrival(&self) {
        self.control.arrival.ring(|| {
            self.cursors.iter().any(|cursor| {
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

    /// A consumer that has come: puts its cursor to `position`, or to the first frame that is there.
    pub(crate) fn join(&self, cursor: &Cursor, position: u64) -> u64 {
        let mut position = position;
        loop {
            cursor.word.store(position << SHIFT, Ordering::Release);
            fence(Ordering::SeqCst);
            let tail = self.control.tail.load(Ordering::Relaxed);
            if tail <= position {
                return position;
            }
            position = tail;
        }
    }

    /// A consumer: borrows the frame at `position`, or the first behind it that was not overwritten.
    pub(crate) fn take(&self, cursor: &Cursor, position: u64) -> Taken {
        let mut wanted = position;
        loop {
            if self.control.head.load(Ordering::Acquire) <= wanted {
                return Taken::NotYet;
            }
            cursor.word.store(wanted << SHIFT | BORROWED, Ordering::Release);
            fence(Ordering::SeqCst);
            let tail = self.control.tail.load(Ordering::Relaxed);
            if tail <= wanted {
                return Taken::Frame { position: wanted, missed: wanted - position };
            }
            wanted = tail;
            self.give_back(cursor, wanted);
        }
    }

    /// As `take`, for a consumer that may have borrowed frames behind `position`: there is no moment in which they are given back.
    pub(crate) fn take_back(&self, cursor: &Cursor, position: u64) -> Taken {
        let mut wanted = position;
        while self.control.head.load(Ordering::Acquire) > wanted {
            cursor.word.store(wanted << SHIFT | BORROWED, Ordering::Release);
            fence(Ordering::SeqCst);
            let tail = self.control.tail.load(Ordering::Relaxed);
            if tail <= wanted {
                return Taken::Frame { position: wanted, missed: wanted - position };
            }
            wanted = tail;
        }
        Taken::NotYet
    }

    /// A consumer: has no frame borrowed any more, and wants that at `next`.
    pub(crate) fn give_back(&self, cursor: &Cursor, next: u64) {
        self.leave(cursor, next << SHIFT);
    }

    /// A consumer that has borrowed a frame before the one at `oldest`: goes on with that as the first that it has borrowed.
    ///
    /// The frames behind a borrowed one are as safe as that: the producer claims slots in order, and refuses at the first.
    pub(crate) fn hold(&self, cursor: &Cursor, oldest: u64) {
        self.leave(cursor, oldest << SHIFT | BORROWED);
    }

    /// Whether the frame at `position` is there. To a consumer that has borrowed one before it, it is then borrowed as well.
    pub(crate) fn is_there(&self, position: u64) -> bool {
        self.control.head.load(Ordering::Acquire) > position
    }

    /// A consumer: sleeps until something arrives, unless the frame at `position` is there or `is_ended` finds the end. It keeps
    /// what it has borrowed, of which the first frame is that at `held`.
    pub(crate) fn await_arrival(
        &self,
        cursor: &Cursor,
        (position, held): (u64, Option<u64>),
        is_ended: impl FnOnce() -> bool,
        at_most: Duration,
    ) {
        let word = held.map_or(position << SHIFT, |oldest| oldest << SHIFT | BORROWED);
        let count = self.control.arrival.count();
        cursor.word.store(word | SLEEPS, Ordering::Release);
        fence(Ordering::SeqCst);
        if !self.is_there(position) && !is_ended() {
            self.control.arrival.sleep(count, at_most);
        }
        cursor.word.store(word, Ordering::Release);
    }

    /// A cursor whose consumer has gone, or was found dead.
    pub(crate) fn free(&self, cursor: &Cursor) {
        self.leave(cursor, FREE);
    }

    /// Writes a cursor that asks for less than before, which the producer may be waiting for.
    fn leave(&self, cursor: &Cursor, word: u64) {
        cursor.word.store(word, Ordering::Release);
        fence(Ordering::SeqCst);
        if self.control.sleeps.load(Ordering::Relaxed) != 0 {
            self.room.given_back.ring(|| true);
        }
    }

    /// How far the consumer of each cursor that is taken is behind, in frames.
    pub(crate) fn lags(&self) -> impl Iterator<Item = (usize, u64)> {
        let head = self.control.head.load(Ordering::Acquire);
        let words = self.cursors.iter().map(|cursor| cursor.word.load(Ordering::Acquire)).enumerate();
        words.filter(|(_, word)| *word != FREE).map(move |(cursor, word)| (cursor, head.saturating_sub(word >> SHIFT)))
    }

    /// How far the slowest consumer is behind; `None` without consumers.
    pub(crate) fn lag(&self) -> Option<u64> {
        self.lags().map(|(_, lag)| lag).max()
    }
}
