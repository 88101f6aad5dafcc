//! Asynchronous writes (`aio_write`), which threads of the C library run. The program queries their outcome; a write without a
//! query before the file is closed counts as lost.

use std::ffi::{c_int, c_void};

use crate::c;
use crate::failures::{is_loss, lose, note_length};
use crate::next::next;
use crate::parts;

/// The first fields of `struct aiocb`.
#[repr(C)]
pub(crate) struct Request {
    descriptor: c_int,
    /// Operation for `lio_listio`.
    operation: c_int,
    priority: c_int,
    bytes: *mut c_void,
    n_bytes: usize,
}

/// `LIO_WRITE`.
const WRITE: c_int = 1;
/// `LIO_WAIT`.
const WAIT: c_int = 0;

fn begun(descriptor: c_int) {
    c::keeping_errno(|| {
        if let Some(written) = parts::of(descriptor) {
            parts::change(written.identity, |written| written.n_pending += 1);
        }
    });
}

macro_rules! begins {
    ($($name:ident as $next:literal),*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(request: *mut Request) -> c_int {
            type Next = unsafe extern "C" fn(*mut Request) -> c_int;
            let outcome = next!($next as Next, (request), -1);
            if outcome == 0 && parts::any() {
                // SAFETY: the C library has just accepted the request.
                begun(unsafe { (*request).descriptor });
            }
            outcome
        }
    )*};
}

begins!(aio_write as c"aio_write", aio_write64 as c"aio_write64");

macro_rules! begins_several {
    ($($name:ident as $next:literal),*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(mode: c_int, requests: *const *mut Request, n: c_int, signal: *mut c_void) -> c_int {
            type Next = unsafe extern "C" fn(c_int, *const *mut Request, c_int, *mut c_void) -> c_int;
            let outcome = next!($next as Next, (mode, requests, n, signal), -1);
            // With `LIO_WAIT`, 0 means that all requests have succeeded.
            if parts::any() && !(mode == WAIT && outcome == 0) {
                for i in 0..usize::try_from(n).unwrap_or(0) {
                    // SAFETY: the program passes `n` pointers. Some of them may be null.
                    unsafe {
                        let request = *requests.add(i);
                        if !request.is_null() && (*request).operation == WRITE {
                            begun((*request).descriptor);
                        }
                    }
                }
            }
            outcome
        }
    )*};
}

begins_several!(lio_listio as c"lio_listio", lio_listio64 as c"lio_listio64");

macro_rules! ends {
    ($($name:ident as $next:literal after $error:literal),*) => {$(
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(request: *mut Request) -> isize {
            type Error = unsafe extern "C" fn(*mut Request) -> c_int;
            type Next = unsafe extern "C" fn(*mut Request) -> isize;
            // `aio_error` is valid only before `aio_return`.
            let error = if parts::any() { next!($error as Error, (request), 0) } else { 0 };
            let outcome = next!($next as Next, (request), -1);
            if parts::any() {
                // SAFETY: the request belongs to the program, which has just passed it.
                let (descriptor, n_bytes) = unsafe { ((*request).descriptor, (*request).n_bytes) };
                c::keeping_errno(|| ended(descriptor, n_bytes, outcome, error));
            }
            outcome
        }
    )*};
}

ends!(aio_return as c"aio_return" after c"aio_error", aio_return64 as c"aio_return64" after c"aio_error64");

/// Records the outcome of a write or read. A file without pending writes was read.
fn ended(descriptor: c_int, n_bytes: usize, outcome: isize, error: c_int) {
    let Some(written) = parts::of(descriptor).filter(|written| written.n_pending > 0) else { return };
    parts::change(written.identity, |written| written.n_pending = written.n_pending.saturating_sub(1));
    match usize::try_from(outcome) {
        Ok(n_written) => note_length(descriptor, n_written, n_bytes),
        Err(_) if is_loss(error) || error == c::ECANCELED => lose(&written),
        Err(_) => {}
    }
}
