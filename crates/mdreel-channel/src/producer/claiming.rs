//! How a producer gets a slot for the next frame.

use std::time::{Duration, Instant};

use super::{Policy, Producer};
use crate::atomic::Ordering;
use crate::lock::PRODUCER;
use crate::protocol::Full;
use mdreel_core::error::{Error, Result};

/// The longest sleep of a producer before it looks again whether the consumers live.
const LOOK: Duration = Duration::from_millis(100);

impl Producer {
    /// The position whose slot may be written; `None` if the frame does not go into the ring.
    pub(super) fn claim(&mut self, sequence: u64) -> Result<Option<u64>> {
        let (may_drop, wait) = match &self.policy {
            Policy::Block(wait) => (false, *wait),
            Policy::DropOldest => (true, Duration::ZERO),
            Policy::Spill(_) => (false, Duration::ZERO),
        };
        let ring = self.ring.protocol();
        let n_dropped = || ring.control.dropped.load(Ordering::Relaxed);
        let n_before = n_dropped();
        let claimed = ring.claim(may_drop);
        if let Ok(position) = claimed {
            // The dead are found where somebody waits for them. Here nobody does, but frames are not dropped for them for long.
            if n_dropped() > n_before && self.freed.is_none_or(|freed| freed.elapsed() >= LOOK) {
                self.free_the_dead()?;
                self.freed = Some(Instant::now());
            }
            return Ok(Some(position));
        }
        self.free_the_dead()?;
        let until = Instant::now() + wait;
        let mut why;
        loop {
            match ring.claim(may_drop) {
                Ok(position) => return Ok(Some(position)),
                Err(full) => why = full,
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            ring.await_room(|| ring.claim(may_drop).is_err(), left.min(LOOK));
            self.free_the_dead()?;
        }
        if !matches!(self.policy, Policy::Block(_)) {
            return Ok(None);
        }
        let n_slots = self.ring.geometry().n_slots;
        let message = match why {
            Full::Wanted => {
                format!("a consumer has not taken the frame {n_slots} before it within {} s", wait.as_secs_f64())
            }
            Full::Held => format!("consumers held the frames of all {n_slots} slots for {} s", wait.as_secs_f64()),
        };
        Err(Error::stream_timeout(format!("no room for frame {sequence}: {message}")).in_file(&self.path))
    }

    /// Frees the cursors of consumers that have died. Their locks are taken meanwhile, so that no new consumer gets one of them.
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
