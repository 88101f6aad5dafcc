//! Waiting for something in a directory: until it is there, or will never be.

use std::path::Path;
use std::time::{Duration, Instant};

use super::alarm::Alarm;
use super::life::{Life, Watch};
use crate::end::End;
use mdreel_core::error::{Error, Result};

/// How long somebody waits.
pub struct Patience<'a> {
    /// At most so long; `None` for as long as a producer may come or lives.
    pub at_most: Option<Duration>,
    /// Asked now and then, at least every 50 ms: whether to go on.
    pub keep_waiting: &'a mut dyn FnMut() -> bool,
}

/// What came of it.
pub(super) enum Outcome<T> {
    /// It is there.
    There(T),
    /// It is not there, and no more will come.
    Ended(End),
}

/// Waits until `look` has found something. `what` is for messages, `alarm` is kept from one waiting to the next.
pub(super) fn wait<T>(
    watch: &Watch,
    alarm: &mut Option<Alarm>,
    patience: &mut Patience<'_>,
    path: &Path,
    mut look: impl FnMut() -> Result<Option<T>>,
) -> Result<Outcome<T>> {
    let began = Instant::now();
    loop {
        // Asked before the look, so that what was published before an end or a death is found before that is told.
        let life = watch.look()?;
        if let Some(found) = look()? {
            if let Some(alarm) = alarm {
                alarm.quicken();
            }
            return Ok(Outcome::There(found));
        }
        match life {
            Life::Ended(end) => return Ok(Outcome::Ended(end)),
            Life::Lost => {
                let message = "the producer was lost: it has died without an end record";
                return Err(Error::stream(message).in_file(path));
            }
            Life::Unborn | Life::Alive => {}
        }
        let left = patience.at_most.map_or(Duration::MAX, |at_most| at_most.saturating_sub(began.elapsed()));
        if left.is_zero() {
            let state = if life == Life::Alive { "the producer is running" } else { "no producer has come" };
            let seconds = patience.at_most.unwrap_or_default().as_secs_f64();
            let message = format!("nothing came within {seconds} s, and {state}");
            return Err(Error::stream_timeout(message).in_file(path));
        }
        if !(patience.keep_waiting)() {
            return Err(Error::Interrupted);
        }
        match alarm {
            Some(alarm) => alarm.wait(left),
            // What comes from now on is told; what has come until now is found by another look.
            None => *alarm = Some(Alarm::new(watch.path())),
        }
    }
}
