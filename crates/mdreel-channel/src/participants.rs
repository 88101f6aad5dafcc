//! The processes that take part in a channel, for messages that name them.
//!
//! The file `processes` of a channel has a record for its producer and one for each cursor. A process writes its record when it
//! joins, and no process reads the file while frames come. Locks alone (`lock`) decide which processes are alive, so mdreel never
//! shows the record of a process that has gone.

use std::fmt;
use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::date;
use super::directory::Directory;
use super::layout::checksum;
use super::lock::PRODUCER;

const NAME: &str = "processes";
/// The size of a record in bytes: its length, its checksum, its body, and padding.
const RECORD: usize = 512;
const BODY: usize = 12;
/// The longest host name and the longest command line that are kept, in characters.
const MOST_HOST: usize = 40;
const MOST_COMMAND: usize = 90;

/// A process that has joined a channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Participant {
    /// The process number on its host.
    pub process: u32,
    /// The name of its host, which may be a container.
    pub host: String,
    /// The command line.
    pub command: String,
    /// The time at which it joined, in seconds since 1970.
    pub joined: u64,
}

impl fmt::Display for Participant {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Participant { process, host, command, .. } = self;
        write!(to, "process {process} ({command}) on {host}")
    }
}

impl Participant {
    /// Describes this process.
    fn this() -> Self {
        let read = |path: &str| std::fs::read(path).unwrap_or_default();
        let mut command = read("/proc/self/cmdline");
        command.iter_mut().filter(|byte| **byte == 0).for_each(|byte| *byte = b' ');
        Participant {
            process: std::process::id(),
            host: shown(&read("/proc/sys/kernel/hostname"), MOST_HOST),
            command: shown(&command, MOST_COMMAND),
            joined: date::now_ms() / 1000,
        }
    }
}

/// Converts bytes to one line of at most `most` characters, and replaces control characters, which could change a terminal.
pub(super) fn shown(bytes: &[u8], most: usize) -> String {
    let text = String::from_utf8_lossy(bytes);
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let visible = |letter: char| if letter.is_control() { char::REPLACEMENT_CHARACTER } else { letter };
    let mut shown: String = words.chars().map(visible).take(most).collect();
    if words.chars().nth(most).is_some() {
        shown.push('…');
    }
    shown
}

/// Writes the record of this process, which has taken the lock on `byte`. If that fails, other processes cannot name this one,
/// but the channel works without the record.
pub(super) fn record(directory: &Directory, byte: u64) {
    let Ok(body) = postcard::to_allocvec(&Participant::this()) else { return };
    let mut record = Vec::with_capacity(RECORD);
    record.extend((body.len() as u32).to_le_bytes());
    record.extend(checksum(&body).to_le_bytes());
    record.extend(&body);
    // Also if the body is too long: the record of another process must not stay.
    record.resize(RECORD, 0);
    let mut options = OpenOptions::new();
    if let Ok(file) = directory.open_file(NAME, options.read(true).write(true).create(true).truncate(false)) {
        let _ = file.write_all_at(&record, byte * RECORD as u64);
    }
}

/// Returns the process that has the lock on `byte`; `None` if it is not known. The caller has checked that the lock is taken.
pub(super) fn holder(directory: &Directory, byte: u64) -> Option<Participant> {
    let file = directory.open_file(NAME, OpenOptions::new().read(true)).ok()?;
    let mut record = [0; RECORD];
    file.read_exact_at(&mut record, byte * RECORD as u64).ok()?;
    let length = u32::from_le_bytes(*record.first_chunk()?) as usize;
    let sum = u64::from_le_bytes(*record[4..].first_chunk()?);
    let body = record.get(BODY..BODY.checked_add(length)?)?;
    let found: Participant = if checksum(body) == sum { postcard::from_bytes(body).ok()? } else { return None };
    let (host, command) = (shown(found.host.as_bytes(), MOST_HOST), shown(found.command.as_bytes(), MOST_COMMAND));
    Some(Participant { host, command, ..found })
}

/// Describes the producer of the channel in a directory, in words.
pub fn producer_of(channel: &Path) -> String {
    let found = Directory::open(channel).ok().and_then(|directory| holder(&directory, PRODUCER));
    found.map_or_else(|| "the producer".to_owned(), |found| format!("the producer, {found},"))
}

/// Describes the last producer of the channel in a directory, in words. It may be a relay or a hub.
pub(super) fn last_producer_of(channel: &Path) -> String {
    let found = Directory::open(channel).ok().and_then(|directory| holder(&directory, PRODUCER));
    found.map_or_else(|| "it".to_owned(), |found| found.to_string())
}

/// Describes the consumers with these cursors, in words.
pub(super) fn consumers(directory: &Directory, cursors: &[usize]) -> String {
    const MOST_NAMED: usize = 3;
    let name = |cursor: &usize| {
        let found = holder(directory, PRODUCER + 1 + *cursor as u64);
        found.map_or_else(|| "a consumer".to_owned(), |found| found.to_string())
    };
    let mut names: Vec<_> = cursors.iter().take(MOST_NAMED).map(name).collect();
    if let Some(n_left) = cursors.len().checked_sub(MOST_NAMED).filter(|n_left| *n_left > 0) {
        names.push(format!("{n_left} other consumers"));
    }
    match names.split_last() {
        None => "a consumer".to_owned(),
        Some((last, [])) => last.clone(),
        Some((last, before)) => format!("{} and {last}", before.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn process_is_found_where_it_has_joined_and_nowhere_else() {
        let place = tempfile::tempdir().unwrap();
        let directory = Directory::create(&place.path().join("channel")).unwrap();
        assert_eq!(holder(&directory, 3), None);
        assert_eq!(producer_of(directory.path()), "the producer");
        record(&directory, 3);
        let found = holder(&directory, 3).unwrap();
        assert_eq!(found.process, std::process::id());
        assert!(!found.host.is_empty() && found.command.contains("mdreel"), "{found:?}");
        assert_eq!(holder(&directory, 2), None);
        assert_eq!(holder(&directory, 4), None);
        assert_eq!(consumers(&directory, &[2, 5]), format!("{found} and a consumer"));
        assert_eq!(consumers(&directory, &[2, 2, 2, 2, 2]).matches("other").count(), 1);
    }

    #[test]
    fn damaged_record_is_that_of_an_unknown_process() {
        let place = tempfile::tempdir().unwrap();
        let directory = Directory::create(&place.path().join("channel")).unwrap();
        record(&directory, 0);
        let path = directory.join(NAME);
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!(bytes.len(), RECORD);
        for at in 0..BODY + 20 {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x41;
            std::fs::write(&path, &damaged).unwrap();
            assert_eq!(holder(&directory, 0), None, "{at}");
        }
    }

    #[test]
    fn text_of_others_is_one_short_line() {
        assert_eq!(shown(b"a\0b \x1b[31m\n c", 90), "a\u{fffd}b \u{fffd}[31m c");
        assert_eq!(shown("é".repeat(50).as_bytes(), 40).chars().count(), 41);
    }
}
