//! Calls that take a path (`stat`, `access`, `unlink`, ...). For a file that this process is writing, they get the path of the
//! hidden file: libraries such as HDF5 query files that they have just created, or remove them after an error.
//!
//! These calls do not wait for missing files, because programs use them to find out whether a file exists.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

use crate::c;
use crate::failures::{is_loss, lose};
use crate::next::next;
use crate::parts::{self, Written};
use crate::place::{Place, settings};
use crate::text::Text;

/// Returns the file that this process is writing under the given path.
fn written(base: c_int, path: *const c_char) -> Option<Written> {
    if !parts::any() || path.is_null() {
        return None;
    }
    // SAFETY: paths from the program end with a zero byte.
    let place = Place::of(base, unsafe { CStr::from_ptr(path) })?;
    parts::named(place.directory, place.name)
}

/// Returns the path of the hidden file.
fn hidden_path(base: c_int, path: *const c_char) -> Option<Text> {
    Some(written(base, path)?.path(settings()?))
}

/// Calls a function with the path of the hidden file. If there is no hidden file, the function gets the path that the program gave.
fn with_hidden_path<T>(base: c_int, path: *const c_char, call: impl Fn(*const c_char) -> T) -> T {
    match hidden_path(base, path) {
        Some(hidden) => call(hidden.path().as_ptr()),
        None => call(path),
    }
}

/// Replaces functions that take a path relative to the working directory, and another argument.
macro_rules! of_a_path {
    ($($name:ident($argument:ty) as $next:literal),*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(path: *const c_char, argument: $argument) -> c_int {
            type Next = unsafe extern "C" fn(*const c_char, $argument) -> c_int;
            with_hidden_path(c::AT_FDCWD, path, |path| next!($next as Next, (path, argument), -1))
        }
    )*};
}

/// Replaces functions that change the length of a file and can lose bytes.
macro_rules! truncates {
    ($($name:ident as $next:literal),*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(path: *const c_char, n_bytes: i64) -> c_int {
            type Next = unsafe extern "C" fn(*const c_char, i64) -> c_int;
            let outcome = with_hidden_path(c::AT_FDCWD, path, |path| next!($next as Next, (path, n_bytes), -1));
            if outcome != 0 && is_loss(c::errno()) {
                c::keeping_errno(|| written(c::AT_FDCWD, path).iter().for_each(lose));
            }
            outcome
        }
    )*};
}

truncates!(truncate as c"truncate", truncate64 as c"truncate64");

/// Replaces functions that old programs call, with a version of the C library as the first argument.
macro_rules! of_a_version_and_a_path {
    ($($name:ident as $next:literal),*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(version: c_int, path: *const c_char, into: *mut c_void) -> c_int {
            type Next = unsafe extern "C" fn(c_int, *const c_char, *mut c_void) -> c_int;
            with_hidden_path(c::AT_FDCWD, path, |path| next!($next as Next, (version, path, into), -1))
        }
    )*};
}

/// Replaces functions that take a path relative to a directory, and two more arguments.
macro_rules! of_a_path_at {
    ($($name:ident($first:ty, $second:ty) as $next:literal),*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(base: c_int, path: *const c_char, first: $first, second: $second) -> c_int {
            type Next = unsafe extern "C" fn(c_int, *const c_char, $first, $second) -> c_int;
            with_hidden_path(base, path, |path| next!($next as Next, (base, path, first, second), -1))
        }
    )*};
}

of_a_path!(stat(*mut c_void) as c"stat", stat64(*mut c_void) as c"stat64");
of_a_path!(lstat(*mut c_void) as c"lstat", lstat64(*mut c_void) as c"lstat64");
of_a_path!(access(c_int) as c"access", chmod(c_uint) as c"chmod");
of_a_version_and_a_path!(__xstat as c"__xstat", __xstat64 as c"__xstat64");
of_a_version_and_a_path!(__lxstat as c"__lxstat", __lxstat64 as c"__lxstat64");
of_a_path_at!(fstatat(*mut c_void, c_int) as c"fstatat", fstatat64(*mut c_void, c_int) as c"fstatat64");
of_a_path_at!(faccessat(c_int, c_int) as c"faccessat", fchmodat(c_uint, c_int) as c"fchmodat");
of_a_path_at!(utimensat(*const c_void, c_int) as c"utimensat");

#[unsafe(no_mangle)]
unsafe extern "C" fn statx(base: c_int, path: *const c_char, flags: c_int, mask: c_uint, into: *mut c_void) -> c_int {
    type Next = unsafe extern "C" fn(c_int, *const c_char, c_int, c_uint, *mut c_void) -> c_int;
    with_hidden_path(base, path, |path| next!(c"statx" as Next, (base, path, flags, mask, into), -1))
}

/// Removes both the hidden file and the published file of the same name.
fn removed(base: c_int, path: *const c_char, call: impl Fn(*const c_char) -> c_int) -> c_int {
    let Some(hidden) = hidden_path(base, path) else { return call(path) };
    let outcome = call(hidden.path().as_ptr());
    c::keeping_errno(|| call(path));
    outcome
}

#[unsafe(no_mangle)]
unsafe extern "C" fn unlink(path: *const c_char) -> c_int {
    type Next = unsafe extern "C" fn(*const c_char) -> c_int;
    removed(c::AT_FDCWD, path, |path| next!(c"unlink" as Next, (path), -1))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn remove(path: *const c_char) -> c_int {
    type Next = unsafe extern "C" fn(*const c_char) -> c_int;
    removed(c::AT_FDCWD, path, |path| next!(c"remove" as Next, (path), -1))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn unlinkat(base: c_int, path: *const c_char, flags: c_int) -> c_int {
    type Next = unsafe extern "C" fn(c_int, *const c_char, c_int) -> c_int;
    removed(base, path, |path| next!(c"unlinkat" as Next, (base, path, flags), -1))
}
