//! Replacements of functions of the C library.
//!
//! `open` and `openat` have an optional argument, which functions of Rust cannot have. On the supported processors, a fixed
//! argument uses the same register, so the replacements always take it and use it only where the flags require it.

use std::ffi::{CStr, c_char, c_int, c_uint};

use crate::c::{self, Stream};
use crate::close::{self, Closing};
use crate::failures;
use crate::names::{MOST_NAME, is_visible};
use crate::next::{
    Close, CloseStream, Create, Duplicate, DuplicateWith, Exit, Forgive, Open, OpenAt, OpenDescriptor, OpenStream,
    OpenStreamAgain, Rename, RenameAt, RenameAtWith, next,
};
use crate::open::{Which, opened};
use crate::parts;
use crate::place::Place;
use crate::streams;

/// Returns the flags for the file to open. A hidden file exists already, so `O_EXCL` must not apply.
fn flags_for(which: Which<'_>, flags: c_int) -> c_int {
    match which {
        Which::Named => flags,
        Which::Hidden(_) => flags & !c::O_EXCL,
    }
}

fn path_for(which: Which<'_>, path: *const c_char) -> *const c_char {
    match which {
        Which::Named => path,
        Which::Hidden(hidden) => hidden.as_ptr(),
    }
}

macro_rules! opens {
    ($($name:ident as $next:literal),*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
            opened(c::AT_FDCWD, path, flags, mode, |which| {
                next!($next as Open, (path_for(which, path), flags_for(which, flags), mode), -1)
            })
        }
    )*};
}

macro_rules! opens_at {
    ($($name:ident as $next:literal),*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(base: c_int, path: *const c_char, flags: c_int, mode: c_uint) -> c_int {
            opened(base, path, flags, mode, |which| {
                next!($next as OpenAt, (base, path_for(which, path), flags_for(which, flags), mode), -1)
            })
        }
    )*};
}

macro_rules! creates {
    ($($name:ident as $next:literal),*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(path: *const c_char, mode: c_uint) -> c_int {
            opened(c::AT_FDCWD, path, c::O_CREAT | c::O_WRONLY | c::O_TRUNC, mode, |which| {
                next!($next as Create, (path_for(which, path), mode), -1)
            })
        }
    )*};
}

macro_rules! opens_streams {
    ($($name:ident, $again:ident as $next:literal, $next_again:literal),*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(path: *const c_char, mode: *const c_char) -> *mut Stream {
            streams::open(path, mode, |path, mode| next!($next as OpenStream, (path, mode), std::ptr::null_mut()))
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn $again(path: *const c_char, mode: *const c_char, stream: *mut Stream) -> *mut Stream {
            streams::open_again(path, mode, stream, |path, mode| {
                next!($next_again as OpenStreamAgain, (path, mode, stream), std::ptr::null_mut())
            })
        }
    )*};
}

opens!(open as c"open", open64 as c"open64");
// Programs compiled with `_FORTIFY_SOURCE` call these functions if they pass no mode.
opens!(__open_2 as c"open", __open64_2 as c"open64");
opens_at!(openat as c"openat", openat64 as c"openat64");
opens_at!(__openat_2 as c"openat", __openat64_2 as c"openat64");
creates!(creat as c"creat", creat64 as c"creat64");
opens_streams!(fopen, freopen as c"fopen", c"freopen", fopen64, freopen64 as c"fopen64", c"freopen64");

/// Concludes a closing after the call. Returns the outcome of the call, or -1 if the file could not be renamed.
fn closed(closing: Option<Closing>, outcome: c_int, is_closed: bool) -> c_int {
    let has_its_name = closing.is_none_or(|closing| closing.end(is_closed));
    if has_its_name { outcome } else { -1 }
}

macro_rules! closes {
    ($($name:ident),*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(descriptor: c_int) -> c_int {
            let closing = Closing::of(descriptor);
            // This program does not conclude inherited files and files that their opener will publish.
            let others = if closing.is_none() { parts::of(descriptor) } else { None };
            let outcome = next!(c"close" as Close, (descriptor), -1);
            if let Some(others) = others.filter(|_| outcome != 0 && failures::is_loss(c::errno())) {
                failures::lose(&others);
            }
            closed(closing, outcome, outcome == 0)
        }
    )*};
}

closes!(close, __close);

#[unsafe(no_mangle)]
unsafe extern "C" fn fclose(stream: *mut Stream) -> c_int {
    let descriptor = if parts::any() { c::descriptor_of(stream) } else { -1 };
    let Some(written) = parts::of(descriptor) else { return next!(c"fclose" as CloseStream, (stream), -1) };
    let closing = Closing::of(descriptor);
    let has_failed = c::has_failed(stream);
    // The stream becomes invalid.
    parts::change(written.identity, |written| written.forget_stream(stream));
    let outcome = next!(c"fclose" as CloseStream, (stream), -1);
    let is_well = outcome == 0 && !has_failed;
    if !is_well && closing.is_none() {
        c::keeping_errno(|| failures::lose(&written));
    }
    closed(closing, outcome, is_well)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fdopen(descriptor: c_int, mode: *const c_char) -> *mut Stream {
    let stream = next!(c"fdopen" as OpenDescriptor, (descriptor, mode), std::ptr::null_mut());
    if !stream.is_null()
        && let Some(written) = parts::of(descriptor)
    {
        parts::change(written.identity, |written| written.add_stream(stream));
    }
    stream
}

/// Replaces functions that clear the error flag of a stream.
macro_rules! forgives {
    ($($name:ident as $next:literal, flushing $flushes:literal;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(stream: *mut Stream) {
            if parts::any() {
                streams::note_failure(stream, $flushes);
            }
            next!($next as Forgive, (stream), ());
        }
    )*};
}

forgives! {
    clearerr as c"clearerr", flushing false;
    clearerr_unlocked as c"clearerr_unlocked", flushing false;
    rewind as c"rewind", flushing true;
}

#[unsafe(no_mangle)]
unsafe extern "C" fn dup2(from: c_int, to: c_int) -> c_int {
    let closing = if from == to { None } else { Closing::of(to) };
    let outcome = next!(c"dup2" as Duplicate, (from, to), -1);
    // `dup2` does not report errors of the descriptor that it closes.
    closing.map(|closing| c::keeping_errno(|| closing.end(true)));
    outcome
}

#[unsafe(no_mangle)]
unsafe extern "C" fn dup3(from: c_int, to: c_int, flags: c_int) -> c_int {
    let closing = if from == to { None } else { Closing::of(to) };
    let outcome = next!(c"dup3" as DuplicateWith, (from, to, flags), -1);
    closing.map(|closing| c::keeping_errno(|| closing.end(true)));
    outcome
}

/// Changes the final name of a file that this process is writing. Returns `None` for any other file, and if the
/// new name is invalid or in another directory.
fn rename_unseen(from_base: c_int, from: *const c_char, to_base: c_int, to: *const c_char) -> Option<c_int> {
    if !parts::any() || from.is_null() || to.is_null() {
        return None;
    }
    // SAFETY: paths from the program end with a zero byte.
    let (from, to) = unsafe { (CStr::from_ptr(from), CStr::from_ptr(to)) };
    let from = Place::of(from_base, from)?;
    let written = parts::named(from.directory, from.name)?;
    let to = Place::of(to_base, to)?;
    let fits = to.directory == from.directory && is_visible(to.name) && to.name.len() <= MOST_NAME;
    fits.then(|| {
        parts::change(written.identity, |written| {
            written.rename(to.name);
            written.is_exclusive = false;
        });
        0
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn rename(from: *const c_char, to: *const c_char) -> c_int {
    let unseen = rename_unseen(c::AT_FDCWD, from, c::AT_FDCWD, to);
    unseen.unwrap_or_else(|| next!(c"rename" as Rename, (from, to), -1))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn renameat(base: c_int, from: *const c_char, to_base: c_int, to: *const c_char) -> c_int {
    let unseen = rename_unseen(base, from, to_base, to);
    unseen.unwrap_or_else(|| next!(c"renameat" as RenameAt, (base, from, to_base, to), -1))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn renameat2(
    base: c_int,
    from: *const c_char,
    to_base: c_int,
    to: *const c_char,
    flags: c_uint,
) -> c_int {
    let unseen = if flags == 0 { rename_unseen(base, from, to_base, to) } else { None };
    unseen.unwrap_or_else(|| next!(c"renameat2" as RenameAtWith, (base, from, to_base, to, flags), -1))
}

macro_rules! exits {
    ($($name:ident as $next:literal),*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(status: c_int) -> ! {
            if parts::any() {
                close::end(status == 0, false);
            }
            next!($next as Exit, (status), std::process::abort())
        }
    )*};
}

// Shells end with these functions.
exits!(_exit as c"_exit", _Exit as c"_Exit");
