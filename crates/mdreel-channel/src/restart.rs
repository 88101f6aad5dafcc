//! Waiting for the restart of a lost producer.

use std::time::{Duration, Instant};

use mdreel_core::error::Error;

/// The longest sleep between two checks for a successor.
const LOOK: Duration = Duration::from_millis(20);

/// The time within which the successor of a lost producer must come.
#[derive(Debug, Clone, Copy)]
pub struct Restart {
    at_most: Duration,
    lost: Option<Instant>,
}

impl Restart {
    /// Tolerates the loss of a producer for `at_most`; with zero, its loss is an error at once.
    pub fn within(at_most: Duration) -> Self {
        Restart { at_most, lost: None }
    }

    /// Returns whether the consumer goes on waiting after this error: no frame has come yet, or the producer was lost but still
    /// has time to come back. After a loss, this call sleeps for a moment, as a consumer does not sleep without a producer.
    pub fn bears(&mut self, error: &Error) -> bool {
        match error {
            Error::StreamTimeout(_) => {
                self.lost = None;
                true
            }
            Error::Stream(_) => {
                let left = self.at_most.saturating_sub(self.lost.get_or_insert_with(Instant::now).elapsed());
                std::thread::sleep(left.min(LOOK));
                !left.is_zero()
            }
            _ => false,
        }
    }

    /// Ends the wait for a lost producer. Called when a frame has come.
    pub fn forget(&mut self) {
        self.lost = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loss_is_borne_for_so_long_and_counted_anew_after_a_return() {
        let lost = || Error::stream("lost");
        assert!(!Restart::within(Duration::ZERO).bears(&lost()));
        let mut restart = Restart::within(Duration::from_secs(3600));
        assert!(restart.bears(&lost()) && restart.lost.is_some());
        assert!(restart.bears(&Error::stream_timeout("late")) && restart.lost.is_none());
        assert!(restart.bears(&lost()));
        restart.forget();
        assert!(restart.lost.is_none() && !restart.bears(&Error::mismatch("something else")));
        let mut short = Restart::within(Duration::from_millis(1));
        while short.bears(&lost()) {}
        assert!(!short.bears(&lost()));
    }
}
