//! Polling of a growing source: one of the waiting workers checks it, and the others wait for the result.
//!
//! There is no watching thread. Nothing happens while no worker waits, and an interrupted run leaves nothing behind.

use std::path::Path;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use super::growth::Arrival;
use crate::error::{Error, Result};

/// Known state of arriving frames.
pub trait Known {
    /// Frames that have come.
    fn n_frames(&self) -> u64;

    /// Whether no more will come.
    fn is_ended(&self) -> bool;

    /// Why no more will come though the end has not.
    fn failure(&self) -> Option<&Error>;

    /// Result for a worker that waits for `frame`; `None` if there is none yet.
    fn answer(&self, frame: u64) -> Option<Result<Arrival>> {
        let arrival = Arrival { n_frames: self.n_frames(), is_ended: self.is_ended() };
        match self.failure() {
            _ if arrival.settles(frame) => Some(Ok(arrival)),
            Some(error) => Some(Err(error.clone())),
            None => None,
        }
    }
}

/// Known state, and the check that updates it.
#[derive(Debug)]
pub struct Lookout<K, L> {
    known: Mutex<K>,
    changed: Condvar,
    looker: Mutex<L>,
}

impl<K: Known, L> Lookout<K, L> {
    /// Starts with a state and the check that updates it.
    pub fn new(known: K, looker: L) -> Self {
        Lookout { known: Mutex::new(known), changed: Condvar::new(), looker: Mutex::new(looker) }
    }

    /// Current state.
    pub fn known(&self) -> MutexGuard<'_, K> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes the workers that wait for a change.
    pub fn notify(&self) {
        self.changed.notify_all();
    }

    /// Waits until the state changes, for the holder of the lock.
    pub fn wait(&self, known: MutexGuard<'_, K>, at_most: Duration) {
        drop(self.changed.wait_timeout(known, at_most));
    }

    /// See `Growth::await_frame`. `look` checks the source, or waits until the next check, for at most the given time.
    /// `path` is for messages.
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
                    // Another one has to look from now on, if it waits for a later frame.
                    self.notify();
                }
                // Under the lock from the question to the waiting, so no answer is missed.
                Err(TryLockError::WouldBlock) => self.wait(known, left),
                Err(TryLockError::Poisoned(_)) => {
                    return Err(Error::worker("who followed it was lost").in_file(path));
                }
            }
        }
    }
}
