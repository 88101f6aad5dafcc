//! Waiting for a file in a directory until it is published or can no longer come.

use std::path::Path;
use std::time::{Duration, Instant};

use super::alarm::Alarm;
use super::life::{Life, Watch};
use crate::end::End;
use mdreel_core::error::{Error, Result};

/// The limits of a wait.
pub struct Patience<'a> {
    /// The longest wait; `None` to wait for as long as a producer is alive or may come.
    pub at_most: Option<Duration>,
    /// Called at least every 50 ms. It returns whether to continue waiting.
    pub keep_waiting: &'a mut dyn FnMut() -> bool,
}

/// The outcome of a wait.
pub(super) enum Outcome<T> {
    /// The item was found.
    There(T),
    /// The item was not found, and no more files will come.
    Ended(End),
}

/// Waits until `look` finds something. Messages name `path`. `alarm` is kept from one wait to the next.
pub(super) fn wait<T>(
    watch: &Watch,
    alarm: &mut Option<Alarm>,
    patience: &mut Patience<'_>,
    path: &Path,
    mut look: impl FnMut() -> Result<Option<T>>,
) -> Result<Outcome<T>> {
    let began = Instant::now();
    loop {
        // Read before `look`, so that files published before an end or a death are found before the end is reported.
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
            // The alarm reports files that come from now on. Another look finds those that came before.
            None => *alarm = Some(Alarm::new(watch.path())),
        }
    }
}
