//! The lookout over a source that grows: of those who wait for a frame one looks, and the others wait for what it finds.
//!
//! Nothing happens while nobody waits, and nothing is left behind when a run is interrupted: there is no thread that watches.

use std::path::Path;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use super::growth::Arrival;
use crate::error::{Error, Result};

/// What is known of frames that come.
pub trait Known {
    /// Frames that have come.
    fn n_frames(&self) -> u64;

    /// Whether no more will come.
    fn is_ended(&self) -> bool;

    /// Why no more will come though the end has not.
    fn failure(&self) -> Option<&Error>;

    /// What is to be said to who waits for `frame`; `None` if nothing yet.
    fn answer(&self, frame: u64) -> Option<Result<Arrival>> {
        let arrival = Arrival { n_frames: self.n_frames(), is_ended: self.is_ended() };
        match self.failure() {
            _ if arrival.settles(frame) => Some(Ok(arrival)),
            Some(error) => Some(Err(error.clone())),
            None => None,
        }
    }
}

/// What is known, and what looks for more.
#[derive(Debug)]
pub struct Lookout<K, L> {
    known: Mutex<K>,
    changed: Condvar,
    looker: Mutex<L>,
}

impl<K: Known, L> Lookout<K, L> {
    /// Starts with what is known, and what looks for more.
    pub fn new(known: K, looker: L) -> Self {
        Lookout { known: Mutex::new(known), changed: Condvar::new(), looker: Mutex::new(looker) }
    }

    /// What is known now.
    pub fn known(&self) -> MutexGuard<'_, K> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes who waits for what is known to change.
    pub fn notify(&self) {
        self.changed.notify_all();
    }

    /// Waits until what is known changes, for who holds it.
    pub fn wait(&self, known: MutexGuard<'_, K>, at_most: Duration) {
        drop(self.changed.wait_timeout(known, at_most));
    }

    /// See `Growth::await_frame`. `look` looks, or waits until it is time to, for at most as long as it is told. `path` is for
    /// messages.
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
                // Under the lock from the question to the waiting, so that no answer is missed.
                Err(TryLockError::WouldBlock) => self.wait(known, left),
                Err(TryLockError::Poisoned(_)) => {
                    return Err(Error::worker("who followed it was lost").in_file(path));
                }
            }
        }
    }
}
