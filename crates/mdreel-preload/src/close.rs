//! Closing of files. The last writer that closes a file publishes it.

use std::ffi::c_int;

use crate::c;
use crate::failures::lose;
use crate::next;
use crate::parts::{self, Written};
use crate::place::{Settings, settings};
use crate::text;

/// Mode bit that marks a hidden file while a program that inherited it has not ended successfully (`S_ISVTX`, which has no meaning
/// for files).
const MARK: u32 = 0o1000;

/// A file whose last descriptor may be closed now.
pub(crate) struct Closing {
    settings: &'static Settings,
    written: Written,
    /// A descriptor of this library, which stays open after the program has closed its own.
    check: c_int,
    is_torn: bool,
}

impl Closing {
    /// Prepares for the closing of a descriptor. Returns `None` if the file needs no action afterwards.
    pub(crate) fn of(descriptor: c_int) -> Option<Self> {
        let written = parts::of(descriptor)?;
        // A forked child leaves the file to its parent. A program that inherited the file concludes it at its own end.
        if !written.is_ours() || written.is_inherited {
            return None;
        }
        Self::begin(written)
    }

    fn begin(written: Written) -> Option<Self> {
        let settings = settings()?;
        c::keeping_errno(|| {
            let path = written.path(settings);
            let check = next::open(path.path(), c::O_RDWR | c::O_CLOEXEC | c::O_NOFOLLOW, 0);
            // The process may lack the permission to write.
            let check = if check == -1 { next::open(path.path(), c::O_CLOEXEC | c::O_NOFOLLOW, 0) } else { check };
            if c::facts_of_open(check).is_ok_and(|facts| facts.identity == written.identity) {
                return Some(Closing { settings, written, check, is_torn: written.is_torn() });
            }
            // Another process has published or removed the file.
            parts::forget(written.identity);
            if check != -1 {
                next::close(check);
            }
            None
        })
    }

    /// Concludes the file after the call that closed the descriptor. If no writer has the file open any more, the file gets its
    /// final name, or is removed if it is incomplete. Returns `false` and sets the error number if the file could not be renamed.
    pub(crate) fn end(self, is_closed_well: bool) -> bool {
        let before = c::errno();
        if !is_closed_well {
            parts::change(self.written.identity, |written| written.has_failed = true);
        }
        let is_last = c::lock_as_last(self.check);
        let outcome = if is_last {
            // Two threads may both find no other writer: the first one publishes the file.
            if parts::forget(self.written.identity) { self.conclude(is_closed_well) } else { Ok(()) }
        } else {
            parts::change(self.written.identity, |written| written.is_closed = true);
            Ok(())
        };
        if is_last {
            c::unlock(self.check);
        }
        next::close(self.check);
        c::set_errno(outcome.err().unwrap_or(before));
        outcome.is_ok()
    }

    fn conclude(&self, is_closed_well: bool) -> Result<(), c_int> {
        let (settings, written) = (self.settings, &self.written);
        let part = written.path(settings);
        let tell = |message| text::tell(settings.path(written.directory), written.name(), message);
        let is_marked = c::facts_of_open(self.check).is_ok_and(|facts| facts.mode & MARK != 0);
        if self.is_torn || !is_closed_well || is_marked {
            tell(if written.is_unseen {
                "it may have been written by calls that mdreel does not observe, such as io_uring: it is not published"
            } else {
                "a write has failed, or the program that wrote it: it is not published"
            });
            c::remove(part.path());
            // The closing program has seen an earlier error, or another program has failed.
            return Ok(());
        }
        let path = settings.join(written.directory, written.name());
        let give_name = |is_exclusive| next::rename(part.path(), path.path(), c::rename_flags(is_exclusive)) == 0;
        if give_name(written.is_exclusive) {
            return Ok(());
        }
        let mut error = c::errno();
        // Some file systems do not support `RENAME_NOREPLACE`: check first whether the name exists.
        if written.is_exclusive && error == c::EINVAL {
            error = if c::facts_of(path.path()).is_ok() { c::EEXIST } else { error };
            if error != c::EEXIST && give_name(false) {
                return Ok(());
            }
        }
        tell("it could not be renamed to its final name: it is not published");
        c::remove(part.path());
        Err(error)
    }
}

/// Publishes the files that this process closed while others had them open, if the others have closed them since.
pub(crate) fn sweep() {
    if parts::any() {
        parts::all().filter(|written| written.is_closed && written.is_ours()).for_each(|written| {
            if let Some(closing) = Closing::begin(written) {
                closing.end(true);
            }
        });
    }
}

/// Registers a file that this program inherited, such as its standard output, and marks it in its mode.
pub(crate) fn inherit(descriptor: c_int, mut written: Written, facts: c::Facts) {
    written.is_inherited = true;
    written.n_bytes = facts.n_bytes;
    // If another program, such as the parent shell, has set the mark, that program also removes it.
    written.is_marked = facts.mode & MARK == 0 && c::set_mode(descriptor, facts.mode | MARK);
    parts::add(written);
}

/// Closes and concludes all files at the end of the program.
///
/// A file that the program opened is published only if all writes have succeeded. An inherited file is published if the process
/// that opened it has become this program (by `exec`). Otherwise its opener, which may still use it, concludes it.
pub(crate) fn end(is_well: bool, is_flushed: bool) {
    parts::all().filter(Written::is_ours).for_each(|written| {
        if written.is_inherited && (written.is_torn() || c::has_failed_standard(written.identity)) {
            // The program that will publish the file does not see this failure.
            lose(&written);
        }
        let Some(closing) = Closing::begin(written) else { return };
        // A program that fails without writing, such as `test` in a script, leaves the file complete.
        if written.is_marked
            && let Ok(facts) = c::facts_of_open(closing.check)
            && (is_well || facts.n_bytes == written.n_bytes)
        {
            c::set_mode(closing.check, facts.mode & !MARK);
        }
        close_all(written.identity, closing.check);
        let is_whole = is_well && (written.is_inherited || is_flushed || written.is_closed);
        let is_its_own_failure = written.is_inherited && !is_well || is_well && closing.is_torn;
        if written.is_ours_to_publish() && (is_whole || is_its_own_failure) {
            closing.end(is_whole);
        } else {
            // The hidden file can stay: the next producer removes it.
            next::close(closing.check);
        }
    });
}

/// Closes all descriptors of a file in this process except one.
fn close_all(identity: (u64, u64), but: c_int) {
    for descriptor in 0..1024 {
        if descriptor != but && c::facts_of_open(descriptor).is_ok_and(|facts| facts.identity == identity) {
            next::close(descriptor);
        }
    }
}
