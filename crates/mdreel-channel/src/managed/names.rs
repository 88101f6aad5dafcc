//! Names of published files and hidden files in a managed directory.
//!
//! This module uses only the Rust language, so that a preloaded library for programs without mdreel support can be compiled from
//! it as well. Both sides then interpret names in the same way.

/// The name of the file of locks.
pub(crate) const LOCK: &str = ".mdreel-lock";
/// The byte of that file which a running producer locks, exclusively or together with others.
pub(crate) const PRODUCER: u64 = 0;
/// The name of the file that records whether a producer has come, and whether it has ended.
pub(crate) const STATE: &str = ".mdreel-state";
/// The first bytes of that file.
pub(crate) const STATE_MAGIC: &[u8; 8] = b"MDREELMS";
/// The offset of the byte of that file that is 0 as long as more files may come.
#[allow(dead_code, reason = "the preloaded library reads it; here only a test does")]
pub(crate) const ENDED: usize = 16;
/// The prefix of the hidden name of a file that is being written.
const PART: &[u8] = b".mdreel-part.";
/// The longest name of a published file, in bytes. It leaves room for the prefix of a hidden name within the limits of file
/// systems.
pub(crate) const MOST_NAME: usize = 200;
/// The longest hidden name, in bytes.
pub(crate) const MOST_PART: usize = PART.len() + 10 + 1 + 20 + 1 + MOST_NAME;

/// Returns whether a published file may have this name, apart from its length. The name must not begin with a dot.
pub(crate) fn is_visible(name: &[u8]) -> bool {
    !name.is_empty() && name[0] != b'.' && !name.contains(&b'/') && !name.contains(&0)
}

/// The information in the hidden name of a file that is being written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Part<'a> {
    /// The number of the process that writes the file.
    pub process: u32,
    /// The number that the process has given to the file.
    pub number: u64,
    /// The name of the file when it is published.
    pub name: &'a [u8],
}

impl<'a> Part<'a> {
    /// Parses a hidden name; `None` if it is not a name of this form.
    pub(crate) fn read(hidden: &'a [u8]) -> Option<Self> {
        let rest = hidden.strip_prefix(PART)?;
        let (process, rest) = number(rest)?;
        let (number, name) = number(rest)?;
        let is_one = is_visible(name) && name.len() <= MOST_NAME;
        is_one.then_some(Part { process: u32::try_from(process).ok()?, number, name })
    }

    /// Writes the hidden name to a buffer; `None` if the name is too long.
    pub(crate) fn write<'room>(&self, into: &'room mut [u8; MOST_PART]) -> Option<&'room [u8]> {
        if self.name.len() > MOST_NAME {
            return None;
        }
        let (mut process, mut number) = ([0; 20], [0; 20]);
        let process = decimal(u64::from(self.process), &mut process);
        let number = decimal(self.number, &mut number);
        let mut length = 0;
        for piece in [PART, process, b".", number, b".", self.name] {
            into[length..length + piece.len()].copy_from_slice(piece);
            length += piece.len();
        }
        Some(&into[..length])
    }
}

/// Parses the number before the first dot, and returns it with the text after the dot.
fn number(text: &[u8]) -> Option<(u64, &[u8])> {
    let dot = text.iter().position(|byte| *byte == b'.')?;
    let (digits, rest) = (&text[..dot], &text[dot + 1..]);
    if digits.is_empty() || (digits.len() > 1 && digits[0] == b'0') {
        return None;
    }
    let add = |value: u64, digit: &u8| {
        let digit = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
        value.checked_mul(10)?.checked_add(digit)
    };
    Some((digits.iter().try_fold(0, add)?, rest))
}

/// Formats a number as decimal text at the end of a buffer.
fn decimal(mut value: u64, room: &mut [u8; 20]) -> &[u8] {
    let mut at = room.len();
    loop {
        at -= 1;
        room[at] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            return &room[at..];
        }
    }
}
