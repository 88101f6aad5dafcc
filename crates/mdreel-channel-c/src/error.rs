//! Errors of the C interface: a number, and a message for the calling thread.

use std::cell::RefCell;
use std::ffi::{CString, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};

use mdreel_core::Error;

/// The number for an invalid argument: a null pointer, an unknown number, or text that is not UTF-8.
const ARGUMENT: c_int = 1;
/// The number for an internal error of mdreel.
const INTERNAL: c_int = 9;

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// The reason why a call has failed.
pub(crate) enum Failure {
    /// An error of the caller.
    Argument(String),
    /// An error from the core.
    Core(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Core(error)
    }
}

impl Failure {
    fn number(&self) -> c_int {
        match self {
            Failure::Argument(_) => ARGUMENT,
            Failure::Core(Error::Io { .. }) => 2,
            Failure::Core(Error::Format { .. }) => 3,
            Failure::Core(Error::Mismatch(_)) => 4,
            Failure::Core(Error::Unsupported(_)) => 5,
            Failure::Core(Error::Stream(_)) => 6,
            Failure::Core(Error::StreamTimeout(_)) => 7,
            Failure::Core(_) => 8,
        }
    }

    fn message(&self) -> String {
        match self {
            Failure::Argument(message) => message.clone(),
            Failure::Core(error) => error.to_string(),
        }
    }
}

/// Calls `body`, and converts its outcome to a number and a message for C.
pub(crate) fn guarded(body: impl FnOnce() -> Result<(), Failure>) -> c_int {
    // Unwind safety: after a panic, the caller sees a producer that has failed.
    let (number, message) = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => (0, String::new()),
        Ok(Err(failure)) => (failure.number(), failure.message()),
        Err(_) => (INTERNAL, "a mistake in mdreel: it has panicked".to_owned()),
    };
    let message = CString::new(message.replace('\0', " ")).unwrap_or_default();
    LAST.with_borrow_mut(|last| *last = message);
    number
}

/// Returns the message of the last call on this thread, empty if that call succeeded. The pointer is valid until the next call.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn mdreel_last_error() -> *const c_char {
    LAST.with_borrow(|last| last.as_ptr())
}
