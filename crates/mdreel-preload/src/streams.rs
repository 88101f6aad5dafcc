//! Streams of the C library: modes of `fopen`, `freopen`, and error flags.

use std::ffi::{CStr, c_char, c_int};

use crate::c::{self, Stream};
use crate::close::Closing;
use crate::failures::lose;
use crate::open::{Which, await_file, opened};
use crate::parts;
use crate::place::Place;

/// Returns the flags of `open` for a mode of `fopen`, or `None` for an invalid mode.
fn flags_of(mode: &[u8]) -> Option<c_int> {
    let (first, rest) = mode.split_first()?;
    // A character set follows the comma.
    let has = |letter| rest.split(|byte| *byte == b',').next().is_some_and(|rest| rest.contains(&letter));
    let (alone, creates) = match first {
        b'r' => (c::O_RDONLY, 0),
        b'w' => (c::O_WRONLY, c::O_CREAT | c::O_TRUNC),
        b'a' => (c::O_WRONLY, c::O_CREAT | c::O_APPEND),
        _ => return None,
    };
    let access = if has(b'+') { c::O_RDWR } else { alone };
    Some(access | creates | if has(b'x') { c::O_EXCL } else { 0 })
}

/// A mode without `x`, which would refuse the existing hidden file.
struct Mode([c_char; 64]);

impl Mode {
    fn for_hidden(mode: &[u8]) -> Self {
        let mut room = [0; 64];
        let length = mode.len().min(room.len() - 1);
        for (letter, byte) in room.iter_mut().zip(mode[..length].iter().filter(|byte| **byte != b'x')) {
            *letter = byte.cast_signed() as c_char;
        }
        Mode(room)
    }
}

/// Opens a stream with `call`, which gets a path and a mode.
pub(crate) fn open(
    path: *const c_char,
    mode: *const c_char,
    call: impl Fn(*const c_char, *const c_char) -> *mut Stream,
) -> *mut Stream {
    // SAFETY: paths and modes from the program end with a zero byte.
    let text = if mode.is_null() { None } else { Some(unsafe { CStr::from_ptr(mode) }.to_bytes()) };
    let Some((text, flags)) = text.and_then(|text| Some((text, flags_of(text)?))) else { return call(path, mode) };
    opened(c::AT_FDCWD, path, flags, 0o666, |which| match which {
        Which::Named => call(path, mode),
        Which::Hidden(hidden) => call(hidden.as_ptr(), Mode::for_hidden(text).0.as_ptr()),
    })
}

/// Opens a stream again with `call`, which always closes the previous file.
pub(crate) fn open_again(
    path: *const c_char,
    mode: *const c_char,
    stream: *mut Stream,
    call: impl Fn(*const c_char, *const c_char) -> *mut Stream,
) -> *mut Stream {
    // `freopen` flushes the stream and ignores errors, so flush it here first.
    note_failure(stream, true);
    let descriptor = c::descriptor_of(stream);
    if let Some(written) = parts::of(descriptor) {
        parts::change(written.identity, |written| written.forget_stream(stream));
    }
    let closing = Closing::of(descriptor);
    let mut refused = None;
    if !path.is_null() && !mode.is_null() {
        // SAFETY: paths and modes from the program end with a zero byte.
        let (path, mode) = unsafe { (CStr::from_ptr(path), CStr::from_ptr(mode)) };
        // Wait before the call, because it closes the stream and cannot be repeated.
        if flags_of(mode.to_bytes()).is_some_and(|flags| flags & c::O_CREAT == 0)
            && let Some(place) = Place::of(c::AT_FDCWD, path)
        {
            refused = await_file(&place).err();
        }
    }
    let outcome = match refused {
        // The wait has failed: call without a further wait.
        Some(error) => {
            let outcome = call(path, mode);
            c::set_errno(error);
            outcome
        }
        None => open(path, mode, call),
    };
    if let Some(closing) = closing {
        c::keeping_errno(|| closing.end(true));
    }
    outcome
}

/// Records a failure of a stream before a call clears its error flag.
pub(crate) fn note_failure(stream: *mut Stream, flushes: bool) {
    let descriptor = c::descriptor_of(stream);
    c::keeping_errno(|| {
        if let Some(written) = parts::of(descriptor)
            && (flushes && !c::flush(stream) || c::has_failed(stream))
        {
            lose(&written);
        }
    });
}
