//! Waiting for a file that does not exist yet.

use std::ffi::c_int;
use std::time::{Duration, Instant};

use crate::c;
use crate::life::{Life, look};
use crate::next;
use crate::place::Place;

/// Shortest and longest pause between two checks without an inotify event, ms.
const PAUSES: (c_int, c_int) = (1, 50);

/// Returns whether an `open` waits for a missing file.
pub(crate) fn waits(place: &Place<'_>) -> bool {
    place.settings.timeout != Some(Duration::ZERO) && !place.is_too_long()
}

/// Waits until `is_there` returns `true`. Returns an error number if the file will not be published or the time is over.
pub(crate) fn wait(place: &Place<'_>, mut is_there: impl FnMut() -> bool) -> Result<(), c_int> {
    let (settings, began) = (place.settings, Instant::now());
    let (mut notices, mut pause) = (None, PAUSES.0);
    let outcome = loop {
        // The state is read before the check, so that the check finds a file published before an end or a death.
        let life = look(settings, place.directory);
        if is_there() {
            break Ok(());
        }
        match life {
            Life::Finished => {
                place.tell("it was not published, and its producer is finished");
                break Err(c::ENOENT);
            }
            Life::Failed => {
                place.tell("it was not published, and its producer was stopped or has failed");
                break Err(c::ECANCELED);
            }
            Life::Lost => {
                place.tell("the producer was lost: it has died without an end record");
                break Err(c::EOWNERDEAD);
            }
            Life::Unborn | Life::Alive => {}
        }
        let left = settings.timeout.map_or(Duration::MAX, |timeout| timeout.saturating_sub(began.elapsed()));
        if left.is_zero() {
            place.tell(if life == Life::Alive {
                "it did not come in time, and the producer lives"
            } else {
                "it did not come in time, and no producer has come"
            });
            break Err(c::ETIMEDOUT);
        }
        match notices {
            // Inotify reports files from now on; the next check finds earlier ones.
            None => notices = Some(c::notices_of(settings.path(place.directory))),
            Some(notices) => {
                let milliseconds = left.as_millis().clamp(1, 1000) as c_int;
                if !c::sleep(notices, pause.min(milliseconds)) && c::is_interruptible() {
                    break Err(c::EINTR);
                }
                pause = (2 * pause).min(PAUSES.1);
            }
        }
    };
    if let Some(notices) = notices.filter(|notices| *notices != -1) {
        next::close(notices);
    }
    outcome
}
