//! Failed writes. A file with a failed write is not published, even if the program ignores the error.

use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::c;
use crate::parts::{self, Written};
use crate::place::settings;
use crate::text;

/// Whether any write of this process has been short. Until then, complete writes need no lookup.
static ANY_SHORT: AtomicBool = AtomicBool::new(false);

/// Returns whether an error means that bytes are missing. After other errors (`EINVAL`, `EXDEV`, `EOPNOTSUPP`, ...) programs use
/// another call.
pub(crate) fn is_loss(error: c_int) -> bool {
    matches!(error, c::ENOSPC | c::EDQUOT | c::EIO | c::EFBIG)
}

/// Records the outcome of a call that writes to a descriptor: a number of bytes, or a negative number with an error number.
/// `wanted` returns the expected number of bytes if a smaller number is a loss.
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

/// Records the outcome of a call that returns 0 on success. See `noting`.
pub(crate) fn noting_success(descriptor: c_int, outcome: c_int) -> c_int {
    noting(descriptor, outcome as isize, || None);
    outcome
}

/// Records whether a write was short. A full disk accepts the first part of a write and fails only when the program writes the
/// rest. If the program does not try again, the rest is lost. If it does, the outcome of the next write counts.
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

/// Records that bytes for a descriptor are lost.
pub(crate) fn lost(descriptor: c_int) {
    c::keeping_errno(|| {
        if let Some(written) = parts::of(descriptor) {
            lose(&written);
        }
    });
}

/// Records that bytes for a file are lost, so that the file is not published.
pub(crate) fn lose(written: &Written) {
    parts::change(written.identity, |written| written.has_failed = true);
    if written.has_failed || written.is_ours() && !written.is_inherited {
        return;
    }
    // Another program, which does not know of the loss, will close the file last. Remove the file, so that it cannot be published.
    let Some(settings) = settings() else { return };
    c::keeping_errno(|| {
        text::tell(settings.path(written.directory), written.name(), "a write has failed: it is not published");
        c::remove(written.path(settings).path());
    });
}

/// Records a write that this library cannot observe. None of the files that this process is writing now is published.
pub(crate) fn unseen() {
    if parts::any() {
        parts::all().for_each(|written| parts::change(written.identity, |written| written.is_unseen = true));
    }
}
