//! Polling of a growing source: one of the waiting workers checks it, and the others wait for the result.
//!
//! No thread watches the source. Nothing happens while no worker waits, and an interrupted run leaves nothing behind.

use std::path::Path;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use super::growth::Arrival;
use crate::error::{Error, Result};

/// The known state of arriving frames.
pub trait Known {
    /// Returns the number of frames that have arrived.
    fn n_frames(&self) -> u64;

    /// Returns whether no more frames will come.
    fn is_ended(&self) -> bool;

    /// Returns the reason why no more frames will come although the end has not been reached.
    fn failure(&self) -> Option<&Error>;

    /// Returns the result for a worker that waits for `frame`; `None` if there is none yet.
    fn answer(&self, frame: u64) -> Option<Result<Arrival>> {
        let arrival = Arrival { n_frames: self.n_frames(), is_ended: self.is_ended() };
        match self.failure() {
            _ if arrival.settles(frame) => Some(Ok(arrival)),
            Some(error) => Some(Err(error.clone())),
            None => None,
        }
    }
}

/// The known state of a growing source, and the check that updates it.
#[derive(Debug)]
pub struct Lookout<K, L> {
    known: Mutex<K>,
    changed: Condvar,
    looker: Mutex<L>,
}

impl<K: Known, L> Lookout<K, L> {
    /// Creates a lookout with a state and the check that updates it.
    pub fn new(known: K, looker: L) -> Self {
        Lookout { known: Mutex::new(known), changed: Condvar::new(), looker: Mutex::new(looker) }
    }

    /// Returns the current state, locked.
    pub fn known(&self) -> MutexGuard<'_, K> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes the workers that wait for a change.
    pub fn notify(&self) {
        self.changed.notify_all();
    }

    /// Releases the lock and waits until the state changes, or `at_most` has passed.
    pub fn wait(&self, known: MutexGuard<'_, K>, at_most: Duration) {
        drop(self.changed.wait_timeout(known, at_most));
    }

    /// See `Growth::await_frame`. `look` checks the source, or waits until the next check, for at most the given time.
    /// `path` appears in error messages.
    pub fn await_frame(
        &self,
        path: &Path,
        frame: u64,
        at_most: Duration,
        look: impl Fn(&mut L, Duration),
    ) -> Result<Arrival> {
        let until = Instant::now() + at_most;
        loop {
            let known = self.known();
            if let Some(answer) = known.answer(frame) {
                return answer;
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(Arrival { n_frames: known.n_frames(), is_ended: false });
            }
            match self.looker.try_lock() {
                Ok(mut looker) => {
                    drop(known);
                    look(&mut looker, left);
                    drop(looker);
                    // If another worker waits for a later frame, it has to do the next check.
                    self.notify();
                }
                // The lock is held from the query until the wait, so no change is missed.
                Err(TryLockError::WouldBlock) => self.wait(known, left),
                Err(TryLockError::Poisoned(_)) => {
                    return Err(Error::worker("who followed it was lost").in_file(path));
                }
            }
        }
    }
}
