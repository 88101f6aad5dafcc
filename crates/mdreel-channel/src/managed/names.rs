//! Names in a managed directory: those of published files, and the hidden ones.
//!
//! It needs nothing but the language, so that a library for programs that know nothing of mdreel can be compiled from it as well: both
//! sides will have one idea of a name.

/// The file of locks.
pub(crate) const LOCK: &str = ".mdreel-lock";
/// The byte of it that a running producer has locked: alone, or together with others.
pub(crate) const PRODUCER: u64 = 0;
/// The file that says whether a producer has come, and whether it has ended.
pub(crate) const STATE: &str = ".mdreel-state";
/// What it begins with.
pub(crate) const STATE_MAGIC: &[u8; 8] = b"MDREELMS";
/// Which byte of it is 0 as long as more files may come.
#[allow(dead_code, reason = "the preloaded library reads it; here only a test does")]
pub(crate) const ENDED: usize = 16;
/// What the hidden name of a file begins with that is being written.
const PART: &[u8] = b".mdreel-part.";
/// The longest name of a published file, in bytes: with what a hidden name has before it, no file system finds it too long.
pub(crate) const MOST_NAME: usize = 200;
/// The longest hidden name, in bytes.
pub(crate) const MOST_PART: usize = PART.len() + 10 + 1 + 20 + 1 + MOST_NAME;

/// Whether a published file may have this name but for its length: one that does not begin with a dot.
pub(crate) fn is_visible(name: &[u8]) -> bool {
    !name.is_empty() && name[0] != b'.' && !name.contains(&b'/') && !name.contains(&0)
}

/// What a hidden name says of a file that is being written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Part<'a> {
    /// The number of the process that has begun it.
    pub process: u32,
    /// The number that the process has given it.
    pub number: u64,
    /// Its name when it is published.
    pub name: &'a [u8],
}

impl<'a> Part<'a> {
    /// Understands a hidden name; `None` if it is not one of these.
    pub(crate) fn read(hidden: &'a [u8]) -> Option<Self> {
        let rest = hidden.strip_prefix(PART)?;
        let (process, rest) = number(rest)?;
        let (number, name) = number(rest)?;
        let is_one = is_visible(name) && name.len() <= MOST_NAME;
        is_one.then_some(Part { process: u32::try_from(process).ok()?, number, name })
    }

    /// The hidden name, written into the room for it. `None` if the name is too long.
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

/// The number before the first dot, and what stands behind that.
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

/// A number as text, at the end of the room for it.
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
