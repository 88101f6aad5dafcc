//! Functions of the C library that write to a descriptor and report errors. A test compares them with the functions of the
//! installed C library (`tests/live/channels/test_preload_writes.py`).
//!
//! Streams write without these functions, but have an error flag; see `streams`.

use std::ffi::{c_int, c_uint, c_void};

use crate::c;
use crate::failures::{is_loss, lose, lost, noting, noting_success};
use crate::next::next;
use crate::parts;

/// A buffer of a vectored write (`struct iovec`).
#[repr(C)]
pub(crate) struct Piece {
    bytes: *const c_void,
    n_bytes: usize,
}

/// Returns the total length of buffers that the kernel has just read.
fn total(pieces: *const Piece, n_pieces: c_int) -> Option<usize> {
    let n_pieces = usize::try_from(n_pieces).ok()?;
    // SAFETY: the call has succeeded, so there are `n_pieces` buffers.
    Some((0..n_pieces).map(|i| unsafe { (*pieces.add(i)).n_bytes }).fold(0, usize::saturating_add))
}

/// Replaces functions that return the number of bytes written to `$to`. Fewer bytes than `$wanted` are a loss, unless it is `None`.
macro_rules! writes {
    ($($name:ident($($argument:ident: $kind:ty),*) as $next:literal to $to:ident, wanting $wanted:expr;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: $kind),*) -> isize {
            type Next = unsafe extern "C" fn($($kind),*) -> isize;
            noting($to, next!($next as Next, ($($argument),*), -1), || $wanted)
        }
    )*};
}

writes! {
    write(to: c_int, bytes: *const c_void, n: usize) as c"write" to to, wanting Some(n);
    __write(to: c_int, bytes: *const c_void, n: usize) as c"__write" to to, wanting Some(n);
    pwrite(to: c_int, bytes: *const c_void, n: usize, at: i64) as c"pwrite" to to, wanting Some(n);
    pwrite64(to: c_int, bytes: *const c_void, n: usize, at: i64) as c"pwrite64" to to, wanting Some(n);
    __pwrite64(to: c_int, bytes: *const c_void, n: usize, at: i64) as c"__pwrite64" to to, wanting Some(n);
    writev(to: c_int, pieces: *const Piece, n: c_int) as c"writev" to to, wanting total(pieces, n);
    pwritev(to: c_int, pieces: *const Piece, n: c_int, at: i64) as c"pwritev" to to, wanting total(pieces, n);
    pwritev64(to: c_int, pieces: *const Piece, n: c_int, at: i64) as c"pwritev64" to to, wanting total(pieces, n);
    pwritev2(to: c_int, pieces: *const Piece, n: c_int, at: i64, flags: c_int) as c"pwritev2" to to, wanting total(pieces, n);
    pwritev64v2(to: c_int, pieces: *const Piece, n: c_int, at: i64, flags: c_int) as c"pwritev64v2" to to,
        wanting total(pieces, n);
    // At the end of their input, these functions write fewer bytes than requested.
    sendfile(to: c_int, from: c_int, at: *mut i64, n: usize) as c"sendfile" to to, wanting None;
    sendfile64(to: c_int, from: c_int, at: *mut i64, n: usize) as c"sendfile64" to to, wanting None;
    copy_file_range(from: c_int, at: *mut i64, to: c_int, to_at: *mut i64, n: usize, flags: c_uint) as c"copy_file_range" to to,
        wanting None;
    splice(from: c_int, at: *mut i64, to: c_int, to_at: *mut i64, n: usize, flags: c_uint) as c"splice" to to, wanting None;
}

/// Replaces functions that return 0 on success.
macro_rules! succeeds {
    ($($name:ident($to:ident: c_int $(, $argument:ident: $kind:ty)*) as $next:literal;)*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($to: c_int $(, $argument: $kind)*) -> c_int {
            type Next = unsafe extern "C" fn(c_int $(, $kind)*) -> c_int;
            noting_success($to, next!($next as Next, ($to $(, $argument)*), -1))
        }
    )*};
}

succeeds! {
    ftruncate(to: c_int, n_bytes: i64) as c"ftruncate";
    ftruncate64(to: c_int, n_bytes: i64) as c"ftruncate64";
    fallocate(to: c_int, mode: c_int, at: i64, n_bytes: i64) as c"fallocate";
    fallocate64(to: c_int, mode: c_int, at: i64, n_bytes: i64) as c"fallocate64";
    // These functions report errors of earlier writes that did not reach the disk.
    fsync(to: c_int) as c"fsync";
    fdatasync(to: c_int) as c"fdatasync";
    syncfs(to: c_int) as c"syncfs";
    sync_file_range(to: c_int, at: i64, n_bytes: i64, flags: c_uint) as c"sync_file_range";
}

/// Replaces functions that return an error number instead of setting the thread's error number.
macro_rules! returns_an_error {
    ($($name:ident as $next:literal),*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(to: c_int, at: i64, n_bytes: i64) -> c_int {
            type Next = unsafe extern "C" fn(c_int, i64, i64) -> c_int;
            let error = next!($next as Next, (to, at, n_bytes), c::ENOSYS);
            if is_loss(error) {
                lost(to);
            }
            error
        }
    )*};
}

returns_an_error!(posix_fallocate as c"posix_fallocate", posix_fallocate64 as c"posix_fallocate64");

/// Synchronizes mapped memory. It can belong to any file, so no file of this process is published after a failure.
#[unsafe(no_mangle)]
unsafe extern "C" fn msync(memory: *mut c_void, n_bytes: usize, flags: c_int) -> c_int {
    type Next = unsafe extern "C" fn(*mut c_void, usize, c_int) -> c_int;
    let outcome = next!(c"msync" as Next, (memory, n_bytes, flags), -1);
    if outcome != 0 && is_loss(c::errno()) && parts::any() {
        c::keeping_errno(|| parts::all().for_each(|written| lose(&written)));
    }
    outcome
}

/// Writes a backtrace. The function returns nothing, but sets the error number after a failure.
#[unsafe(no_mangle)]
unsafe extern "C" fn backtrace_symbols_fd(addresses: *const *mut c_void, n: c_int, to: c_int) {
    type Next = unsafe extern "C" fn(*const *mut c_void, c_int, c_int);
    let before = c::errno();
    c::set_errno(0);
    next!(c"backtrace_symbols_fd" as Next, (addresses, n, to), ());
    if is_loss(c::errno()) {
        lost(to);
    }
    if c::errno() == 0 {
        c::set_errno(before);
    }
}
