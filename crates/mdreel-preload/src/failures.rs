//! What could not be written: remembered until the file would be published, whatever the program makes of the error.

use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::c;
use crate::parts::{self, Written};
use crate::place::settings;
use crate::text;

/// Whether any write of this process has ever ended early: until then, nothing has to be looked up after one that has not.
static ANY_SHORT: AtomicBool = AtomicBool::new(false);

/// Whether an error means that bytes are missing. Others (`EINVAL`, `EXDEV`, `EOPNOTSUPP`, ...) say that a call cannot do it, and
/// programs take another one.
pub(crate) fn is_loss(error: c_int) -> bool {
    matches!(error, c::ENOSPC | c::EDQUOT | c::EIO | c::EFBIG)
}

/// Takes note of the outcome of a call that writes to a descriptor: less than 0 with an error number, or as many bytes. `wanted` says
/// how many should have been written, where fewer mean that something is missing.
pub(crate) fn noting(descriptor: c_int, outcome: isize, wanted: impl FnOnce() -> Option<usize>) -> isize {
    if parts::any() {
        match usize::try_from(outcome) {
            Err(_) if is_loss(c::errno()) => lost(descriptor),
            Err(_) => {}
            Ok(written) => {
                if let Some(wanted) = wanted() {
                    note_length(descriptor, written, wanted);
                }
            }
        }
    }
    outcome
}

/// As `noting`, of a call that returns 0 where it has succeeded.
pub(crate) fn noting_success(descriptor: c_int, outcome: c_int) -> c_int {
    noting(descriptor, outcome as isize, || None);
    outcome
}

/// A full disk takes the beginning of what is written, and refuses the rest only when that is tried again. A program that does not try
/// again has lost it; one that does will write as much as it wants to, or be refused.
pub(crate) fn note_length(descriptor: c_int, written: usize, wanted: usize) {
    let is_short = written < wanted;
    if is_short {
        ANY_SHORT.store(true, Ordering::Relaxed);
    }
    if ANY_SHORT.load(Ordering::Relaxed)
        && let Some(found) = parts::of(descriptor)
    {
        parts::change(found.identity, |written| written.is_short = is_short);
    }
}

/// Something that was to be written to a descriptor is missing.
pub(crate) fn lost(descriptor: c_int) {
    c::keeping_errno(|| {
        if let Some(written) = parts::of(descriptor) {
            lose(&written);
        }
    });
}

/// Something that was to be written to a file is missing: it will not be published.
pub(crate) fn lose(written: &Written) {
    parts::change(written.identity, |written| written.has_failed = true);
    if written.has_failed || written.is_ours() && !written.is_inherited {
        return;
    }
    // Another program will close it last, which may know nothing of this: it must not find it.
    let Some(settings) = settings() else { return };
    c::keeping_errno(|| {
        text::tell(settings.path(written.directory), written.name(), "it could not be written: it is not published");
        c::remove(written.path(settings).path());
    });
}

/// Something is written to files of this process, nobody sees how: none of those that it is writing now is published.
pub(crate) fn unseen() {
    if parts::any() {
        parts::all().for_each(|written| parts::change(written.identity, |written| written.is_unseen = true));
    }
}
