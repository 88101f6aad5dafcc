//! The reason for which a producer has left its channel without an end, if it could write one.
//!
//! A relay leaves the channel of its node when the server of the other node does not answer, or when that server reports that the
//! producer there was lost. Consumers see the relay, which is alive, as the producer. Without this record, they would report that
//! the relay has died.

use std::path::Path;

use super::directory::Directory;
use super::participants::{last_producer_of, shown};
use super::record;

const NAME: &str = "loss";
const MAGIC: &[u8; 8] = b"MDREELLO";
/// The longest reason, in characters.
const MOST: usize = 600;

/// Writes the reason. If this fails, consumers report that the process of the producer has died.
pub(super) fn write(directory: &Directory, reason: &str) {
    let _ = record::write(directory, NAME, MAGIC, &reason, false);
}

/// Removes the reason that the previous producer has written. Called by a producer that has just taken the lock.
pub(super) fn forget(directory: &Directory) {
    let _ = std::fs::remove_file(directory.join(NAME));
}

/// Returns the reason, if the last producer has written one.
fn read(channel: &Path) -> Option<String> {
    let directory = Directory::open(channel).ok()?;
    let reason: String = record::read_if_there(&directory, NAME, MAGIC).ok()??;
    Some(shown(reason.as_bytes(), MOST))
}

/// Returns why the last producer has left the channel without an end: the reason that it has written, or that its process has
/// died.
pub(super) fn reason(channel: &Path) -> String {
    read(channel).unwrap_or_else(|| format!("{} has died without an end record", last_producer_of(channel)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reason_is_read_until_it_is_forgotten_and_cannot_control_a_terminal() {
        let place = tempfile::tempdir().unwrap();
        let directory = Directory::create(&place.path().join("channel")).unwrap();
        assert_eq!(read(directory.path()), None);
        write(&directory, "the server\nwas \x1b[2J killed");
        assert_eq!(read(directory.path()).unwrap(), "the server was \u{fffd}[2J killed");
        write(&directory, &"x".repeat(2 * MOST));
        assert_eq!(read(directory.path()).unwrap().chars().count(), MOST + 1);
        std::fs::write(directory.join(NAME), b"damaged").unwrap();
        assert_eq!(read(directory.path()), None);
        forget(&directory);
        forget(&directory);
        assert!(!directory.join(NAME).exists());
    }
}
