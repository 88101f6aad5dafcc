//! Opening of files. Readers wait for missing files; writers write to hidden files.

use std::ffi::{CStr, c_char, c_int};

use crate::begin::{Begun, Intent, begin};
use crate::c::{self, Stream};
use crate::close::sweep;
use crate::next;
use crate::parts;
use crate::place::{Place, settings};
use crate::wait::{wait, waits};

/// The result of an opening function: a descriptor or a stream.
pub(crate) trait Opened: Copy {
    /// The value after a failure.
    const FAILED: Self;
    fn has_failed(self) -> bool;
    fn descriptor(self) -> c_int;
    /// Returns the address of a stream, or 0 for a descriptor.
    fn stream(self) -> usize;
    fn close(self);
}

impl Opened for c_int {
    const FAILED: Self = -1;

    fn has_failed(self) -> bool {
        self == -1
    }

    fn descriptor(self) -> c_int {
        self
    }

    fn stream(self) -> usize {
        0
    }

    fn close(self) {
        next::close(self);
    }
}

impl Opened for *mut Stream {
    const FAILED: Self = std::ptr::null_mut();

    fn has_failed(self) -> bool {
        self.is_null()
    }

    fn descriptor(self) -> c_int {
        c::descriptor_of(self)
    }

    fn stream(self) -> usize {
        self.expose_provenance()
    }

    fn close(self) {
        next::next!(c"fclose" as next::CloseStream, (self), -1);
    }
}

/// The file that `call` opens.
#[derive(Clone, Copy)]
pub(crate) enum Which<'a> {
    /// The file that the program names.
    Named,
    /// A hidden file. It exists already, so exclusive creation does not apply to it.
    Hidden(&'a CStr),
}

/// Opens a file with flags of `open`. The path is relative to the directory `base`.
pub(crate) fn opened<T: Opened>(
    base: c_int,
    path: *const c_char,
    flags: c_int,
    mode: u32,
    call: impl Fn(Which<'_>) -> T,
) -> T {
    if path.is_null() || settings().is_none() || flags & (c::O_PATH | c::O_DIRECTORY) != 0 {
        return call(Which::Named);
    }
    // SAFETY: paths from the program end with a zero byte.
    let path = unsafe { CStr::from_ptr(path) };
    if flags & c::O_ACCMODE == c::O_RDONLY && flags & c::O_TRUNC == 0 {
        if flags & c::O_CREAT == 0 { to_read(base, path, call) } else { call(Which::Named) }
    } else {
        to_write(base, path, flags, mode, call)
    }
}

fn to_read<T: Opened>(base: c_int, path: &CStr, call: impl Fn(Which<'_>) -> T) -> T {
    // A program that reads a file that it is writing gets the hidden file.
    if parts::any()
        && let Some(place) = Place::of(base, path)
        && let Some(written) = parts::named(place.directory, place.name)
    {
        let again = call(Which::Hidden(written.path(place.settings).path()));
        if !again.has_failed() {
            return again;
        }
    }
    // An existing file needs no further work.
    let mut found = call(Which::Named);
    if !found.has_failed() || c::errno() != c::ENOENT {
        return found;
    }
    let Some(place) = Place::of(base, path).filter(waits) else { return found };
    sweep();
    let outcome = wait(&place, || {
        found = call(Which::Named);
        !found.has_failed() || c::errno() != c::ENOENT
    });
    if let Err(error) = outcome {
        c::set_errno(error);
    }
    found
}

fn to_write<T: Opened>(base: c_int, path: &CStr, flags: c_int, mode: u32, call: impl Fn(Which<'_>) -> T) -> T {
    let Some(place) = Place::of(base, path) else { return call(Which::Named) };
    sweep();
    let intent = Intent {
        creates: flags & c::O_CREAT != 0,
        is_exclusive: flags & (c::O_CREAT | c::O_EXCL) == c::O_CREAT | c::O_EXCL,
        truncates: flags & c::O_TRUNC != 0,
        mode,
    };
    let outcome = if intent.creates { Ok(()) } else { await_file(&place) };
    let new = match outcome.and_then(|()| begin(&place, intent)) {
        Ok(Begun::AsIs) => return call(Which::Named),
        Ok(Begun::Again(path)) => {
            let again = call(Which::Hidden(path.path()));
            if !again.has_failed() {
                c::keeping_errno(|| c::lock_as_writer(again.descriptor()));
            }
            return again;
        }
        Ok(Begun::New(new)) => new,
        Err(error) => {
            c::set_errno(error);
            return T::FAILED;
        }
    };
    let before = c::errno();
    let file = call(Which::Hidden(new.path.path()));
    if file.has_failed() {
        new.discard();
        return file;
    }
    match new.adopt(file.descriptor(), file.stream()) {
        Ok(()) => {
            c::set_errno(before);
            file
        }
        Err(error) => {
            file.close();
            c::set_errno(error);
            T::FAILED
        }
    }
}

/// Waits until a file exists, without opening it. Returns at once if this process is writing it.
pub(crate) fn await_file(place: &Place<'_>) -> Result<(), c_int> {
    let path = place.path();
    let is_there = || parts::named(place.directory, place.name).is_some() || c::facts_of(path.path()).is_ok();
    if is_there() || !waits(place) { Ok(()) } else { wait(place, is_there) }
}
