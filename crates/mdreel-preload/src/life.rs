//! How it stands with the producers of a directory: what the core's `managed/life.rs` sees, without allocating anything.

use std::ffi::CStr;

use crate::c;
use crate::names::{ENDED, LOCK, PRODUCER, STATE, STATE_MAGIC};
use crate::next;
use crate::place::Settings;

/// What is known of the producers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Life {
    /// None has been here.
    Unborn,
    /// One lives.
    Alive,
    /// All files that were meant to come have come.
    Finished,
    /// No more files will come, as the producer was stopped or has failed.
    Failed,
    /// The last one has died.
    Lost,
}

/// How it stands. What was published before an end or a death is there when this tells of that.
pub(crate) fn look(settings: &Settings, directory: usize) -> Life {
    let before = state(settings, directory);
    if let Some(Life::Finished | Life::Failed) = before {
        return before.unwrap_or(Life::Lost);
    }
    if is_alive(settings, directory) {
        return Life::Alive;
    }
    // One that has ended in between has left word before it gave the lock back.
    match before.and_then(|_| state(settings, directory)) {
        Some(Life::Alive) => Life::Lost,
        Some(ended) => ended,
        None => Life::Unborn,
    }
}

/// What the producers have said: nothing, that they live, or that they have ended.
fn state(settings: &Settings, directory: usize) -> Option<Life> {
    let mut bytes = [0; ENDED + 2];
    let n_bytes = with_open(settings.join(directory, STATE.as_bytes()).path(), |file| c::read_start(file, &mut bytes))?;
    if n_bytes < bytes.len() || !bytes.starts_with(STATE_MAGIC) {
        // Nobody has said an end where the file says that more may come, is not whole, or could not be read: its lock tells the rest.
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
    // To ask for a lock of a file that is behind a network takes the right to write to it.
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
