//! Claims of slots for new frames.

use std::time::{Duration, Instant};

use super::{Policy, Producer};
use crate::atomic::Ordering;
use crate::clock::{self, is_waiting};
use crate::lock::PRODUCER;
use crate::participants;
use crate::protocol::Full;
use mdreel_core::error::{Error, Result};

/// The longest sleep of a producer before it checks again whether the consumers are alive.
const LOOK: Duration = Duration::from_millis(100);

impl Producer {
    /// Returns the position whose slot may be written, or `None` if the frame does not go into the ring.
    pub(super) fn claim(&mut self, sequence: u64) -> Result<Option<u64>> {
        let position = self.find_slot(sequence)?;
        if let Some(position) = position {
            self.release(position);
        }
        Ok(position)
    }

    fn find_slot(&mut self, sequence: u64) -> Result<Option<u64>> {
        let (may_drop, wait) = match &self.policy {
            Policy::Block(wait) => (false, *wait),
            Policy::DropOldest => (true, Duration::ZERO),
            Policy::Spill(_) => (false, Duration::ZERO),
        };
        let n_before = self.dropped();
        if let Ok(position) = self.ring.protocol().claim(may_drop) {
            self.stop_waiting();
            // A producer that waits finds dead consumers meanwhile. Here it does not wait, so it looks for them while it drops
            // frames, and does not drop frames for dead consumers for long.
            if self.dropped() > n_before && self.freed.is_none_or(|freed| freed.elapsed() >= LOOK) {
                self.free_the_dead()?;
                self.freed = Some(Instant::now());
            }
            return Ok(Some(position));
        }
        self.free_the_dead()?;
        if matches!(self.policy, Policy::Block(_)) {
            self.begin_waiting();
        }
        let ring = self.ring.protocol();
        let until = Instant::now() + wait;
        let mut why;
        loop {
            match ring.claim(may_drop) {
                Ok(position) => {
                    self.stop_waiting();
                    return Ok(Some(position));
                }
                Err(full) => why = full,
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            ring.await_room(|| ring.claim(may_drop).is_err(), left.min(LOOK));
            self.ring.head().waited_at.store(clock::now(), Ordering::Relaxed);
            self.free_the_dead()?;
        }
        if !matches!(self.policy, Policy::Block(_)) {
            return Ok(None);
        }
        Err(Error::stream_timeout(format!("no room for frame {sequence}: {}", self.said(why))).in_file(&self.path))
    }

    /// Returns a message that names the consumers for which a frame waits, and the time that it has waited.
    fn said(&self, why: Full) -> String {
        let n_slots = self.ring.geometry().n_slots;
        let names = participants::consumers(&self.directory, &self.ring.protocol().blockers());
        let seconds = self.waits.map_or(0.0, |since| since.elapsed().as_secs_f64());
        match why {
            Full::Wanted => format!("in {seconds:.1} s, {names} has not taken the frame {n_slots} before it"),
            Full::Held => format!("for {seconds:.1} s, all {n_slots} slots have frames that are held by {names}"),
        }
    }

    /// Shows to processes that read the status of the channel that a frame waits for room. If the caller tries the frame again
    /// soon, the wait counts as uninterrupted.
    fn begin_waiting(&mut self) {
        let now = clock::now();
        let is_new = !is_waiting(self.ring.head().waited_at.load(Ordering::Relaxed), now);
        self.ring.head().waited_at.store(now, Ordering::Relaxed);
        if self.waits.is_none() || is_new {
            self.waits = Some(Instant::now());
            self.ring.head().waits_since.store(now, Ordering::Relaxed);
        }
    }

    fn stop_waiting(&mut self) {
        if self.waits.take().is_some() {
            self.ring.head().waits_since.store(0, Ordering::Relaxed);
        }
    }

    /// Frees the cursors of consumers that have died. The producer holds their locks meanwhile, so that no new consumer gets one of
    /// the cursors.
    pub(super) fn free_the_dead(&self) -> Result<()> {
        let ring = self.ring.protocol();
        for (cursor, byte) in ring.used().iter().zip(PRODUCER + 1..) {
            if !cursor.is_clear() && self.locks.take(byte)? {
                ring.free(cursor);
                self.locks.give_back(byte)?;
            }
        }
        Ok(())
    }
}
