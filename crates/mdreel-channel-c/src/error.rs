//! What a function says that has failed: a number, and a message for the thread that has called it.

use std::cell::RefCell;
use std::ffi::{CString, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};

use mdreel_core::Error;

/// A null pointer, a number that names nothing, text that is not UTF-8.
const ARGUMENT: c_int = 1;
/// A mistake of ours.
const INTERNAL: c_int = 9;

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// Why a call has failed.
pub(crate) enum Failure {
    /// The caller's mistake.
    Argument(String),
    /// What the core says.
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

/// Calls `body`, and says what came of it as C does.
pub(crate) fn guarded(body: impl FnOnce() -> Result<(), Failure>) -> c_int {
    // What a panic leaves behind is seen by the caller as a producer that has failed.
    let (number, message) = match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => (0, String::new()),
        Ok(Err(failure)) => (failure.number(), failure.message()),
        Err(_) => (INTERNAL, "a mistake in mdreel: it has panicked".to_owned()),
    };
    let message = CString::new(message.replace('\0', " ")).unwrap_or_default();
    LAST.with_borrow_mut(|last| *last = message);
    number
}

/// The message of the last call on this thread, empty if that has succeeded. It stays until the next call.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn mdreel_last_error() -> *const c_char {
    LAST.with_borrow(|last| last.as_ptr())
}
