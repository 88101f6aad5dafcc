//! State of the producers of a directory, as in the core's `managed/life.rs`, but without allocations.

use std::ffi::CStr;

use crate::c;
use crate::names::{ENDED, LOCK, PRODUCER, STATE, STATE_MAGIC};
use crate::next;
use crate::place::Settings;

/// State of the producers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Life {
    /// No producer has used the directory yet.
    Unborn,
    /// A producer is running.
    Alive,
    /// The producers have published all files.
    Finished,
    /// No more files follow, because the producer was stopped or has failed.
    Failed,
    /// The last producer has died without an end record.
    Lost,
}

/// Returns the state of the producers. If they have ended or died, all files that they published before are visible.
pub(crate) fn look(settings: &Settings, directory: usize) -> Life {
    let before = state(settings, directory);
    if let Some(Life::Finished | Life::Failed) = before {
        return before.unwrap_or(Life::Lost);
    }
    if is_alive(settings, directory) {
        return Life::Alive;
    }
    // A producer that ends writes its state before it releases the lock, so read the state again.
    match before.and_then(|_| state(settings, directory)) {
        Some(Life::Alive) => Life::Lost,
        Some(ended) => ended,
        None => Life::Unborn,
    }
}

/// Returns the state in the producers' file, or `None` if it cannot be opened.
fn state(settings: &Settings, directory: usize) -> Option<Life> {
    let mut bytes = [0; ENDED + 2];
    let n_bytes = with_open(settings.join(directory, STATE.as_bytes()).path(), |file| c::read_start(file, &mut bytes))?;
    if n_bytes < bytes.len() || !bytes.starts_with(STATE_MAGIC) {
        // An incomplete or unreadable file contains no end record. The lock shows whether the producer is alive.
        return Some(Life::Alive);
    }
    Some(match bytes[ENDED..] {
        [0, _] => Life::Alive,
        [_, 0] => Life::Finished,
        _ => Life::Failed,
    })
}

fn is_alive(settings: &Settings, directory: usize) -> bool {
    with_open(settings.join(directory, LOCK.as_bytes()).path(), |file| c::is_locked(file, PRODUCER)).unwrap_or(false)
}

fn with_open<T>(path: &CStr, act: impl FnOnce(i32) -> T) -> Option<T> {
    // Network file systems require write permission to query a lock.
    let mut file = next::open(path, c::O_RDWR | c::O_CLOEXEC | c::O_NOFOLLOW, 0);
    if file == -1 {
        file = next::open(path, c::O_CLOEXEC | c::O_NOFOLLOW, 0);
    }
    if file == -1 {
        return None;
    }
    let outcome = act(file);
    next::close(file);
    Some(outcome)
}
