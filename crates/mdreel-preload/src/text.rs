//! Texts on the stack: paths and messages.

use std::ffi::CStr;

use crate::next;

/// A text of at most 4,095 bytes, followed by a zero byte.
pub(crate) struct Text {
    bytes: [u8; 4096],
    length: usize,
    is_whole: bool,
}

impl Text {
    pub(crate) const fn of_nothing() -> Self {
        Text { bytes: [0; 4096], length: 0, is_whole: true }
    }

    pub(crate) fn of(pieces: &[&[u8]]) -> Self {
        let mut text = Text::of_nothing();
        pieces.iter().for_each(|piece| text.push(piece));
        text
    }

    fn push(&mut self, piece: &[u8]) {
        let room = self.bytes.len() - 1 - self.length;
        let taken = &piece[..piece.len().min(room)];
        self.bytes[self.length..self.length + taken.len()].copy_from_slice(taken);
        self.length += taken.len();
        self.is_whole &= taken.len() == piece.len();
    }

    /// Returns the text as a path. The path is empty if the text was too long, so that it names no file.
    pub(crate) fn path(&self) -> &CStr {
        let path = if self.is_whole { CStr::from_bytes_until_nul(&self.bytes).ok() } else { None };
        path.unwrap_or(c"")
    }
}

/// Prints a message about a file to standard error, in one line.
pub(crate) fn tell(directory: &CStr, name: &[u8], message: &str) {
    let line = Text::of(&[b"mdreel: ", directory.to_bytes(), b"/", name, b": ", message.as_bytes(), b"\n"]);
    next::write(2, &line.bytes[..line.length]);
}
