//! Files that are closed: published by who closes them last.

use std::ffi::c_int;

use crate::c;
use crate::failures::lose;
use crate::next;
use crate::parts::{self, Written};
use crate::place::{Settings, settings};
use crate::text;

/// A bit of a hidden file's mode (`S_ISVTX`, without meaning for files): a program was started with it, and has not ended well yet.
const MARK: u32 = 0o1000;

/// A file whose last descriptor may be about to go.
pub(crate) struct Closing {
    settings: &'static Settings,
    written: Written,
    /// A descriptor of this library, by which the file is known when the program has none any more.
    check: c_int,
    is_torn: bool,
}

impl Closing {
    /// Looks before a descriptor is closed; `None` if nothing is to be done afterwards.
    pub(crate) fn of(descriptor: c_int) -> Option<Self> {
        let written = parts::of(descriptor)?;
        // A child that was forked leaves it to its parent; a program that was started with it waits for its own end.
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
            // Without the right to write to it.
            let check = if check == -1 { next::open(path.path(), c::O_CLOEXEC | c::O_NOFOLLOW, 0) } else { check };
            if c::facts_of_open(check).is_ok_and(|facts| facts.identity == written.identity) {
                return Some(Closing { settings, written, check, is_torn: written.is_torn() });
            }
            // Somebody else has published it, or removed it.
            parts::forget(written.identity);
            if check != -1 {
                next::close(check);
            }
            None
        })
    }

    /// The descriptor was closed, well or not: if nobody has the file any more, it gets its name, or goes if it is not whole. `false`
    /// with an error number if it should have got it, and could not.
    pub(crate) fn end(self, is_closed_well: bool) -> bool {
        let before = c::errno();
        if !is_closed_well {
            parts::change(self.written.identity, |written| written.has_failed = true);
        }
        let is_last = c::lock_as_last(self.check);
        let outcome = if is_last {
            // Two threads may both find that nobody else has the file: the first one publishes it.
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
                "it may have been written in a way that is not watched, as by io_uring: it is not published"
            } else {
                "it could not be written, or its program has failed: it is not published"
            });
            c::remove(part.path());
            // Who has closed it has been told by an error before, or has not failed itself.
            return Ok(());
        }
        let path = settings.join(written.directory, written.name());
        let give_name = |is_exclusive| next::rename(part.path(), path.path(), c::rename_flags(is_exclusive)) == 0;
        if give_name(written.is_exclusive) {
            return Ok(());
        }
        let mut error = c::errno();
        // File systems that cannot refuse a name that is taken are asked before.
        if written.is_exclusive && error == c::EINVAL {
            error = if c::facts_of(path.path()).is_ok() { c::EEXIST } else { error };
            if error != c::EEXIST && give_name(false) {
                return Ok(());
            }
        }
        tell("it could not get its name: it is not published");
        c::remove(part.path());
        Err(error)
    }
}

/// Publishes what this process has closed while others had it open, if they have it no more.
pub(crate) fn sweep() {
    if parts::any() {
        parts::all().filter(|written| written.is_closed && written.is_ours()).for_each(|written| {
            if let Some(closing) = Closing::begin(written) {
                closing.end(true);
            }
        });
    }
}

/// A program that was started with a file, as standard output for example: says so in its mode.
pub(crate) fn inherit(descriptor: c_int, mut written: Written, facts: c::Facts) {
    written.is_inherited = true;
    written.n_bytes = facts.n_bytes;
    // Another one may have said so before, as a shell whose child this is; then it is left to that.
    written.is_marked = facts.mode & MARK == 0 && c::set_mode(descriptor, facts.mode | MARK);
    parts::add(written);
}

/// The program ends by itself, well or not. What it has not closed is closed; of what it has opened itself only if all that it wanted to
/// write was written. What it was started with is published if it is what the opener has become (by `exec`); else it is left to the
/// opener, which may go on with it.
pub(crate) fn end(is_well: bool, is_flushed: bool) {
    parts::all().filter(Written::is_ours).for_each(|written| {
        if written.is_inherited && (written.is_torn() || c::has_failed_standard(written.identity)) {
            // Whoever is to publish it does not know, if this program goes on as if nothing had happened.
            lose(&written);
        }
        let Some(closing) = Closing::begin(written) else { return };
        // What has failed without writing anything, as a test in a script does, has torn nothing.
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
            // It is no harm to leave it: it is hidden, and the next producer removes it.
            next::close(closing.check);
        }
    });
}

/// Closes what this process has of a file but one descriptor.
fn close_all(identity: (u64, u64), but: c_int) {
    for descriptor in 0..1024 {
        if descriptor != but && c::facts_of_open(descriptor).is_ok_and(|facts| facts.identity == identity) {
            next::close(descriptor);
        }
    }
}
