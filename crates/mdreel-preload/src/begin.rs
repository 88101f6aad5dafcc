//! Files that are begun: under hidden names.

use std::ffi::c_int;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::c;
use crate::names::{MOST_PART, Part};
use crate::next;
use crate::parts::{self, Written};
use crate::place::Place;
use crate::text::Text;

/// What a program wants to do with a file that it opens to write.
#[derive(Clone, Copy)]
pub(crate) struct Intent {
    /// Whether it may not be there.
    pub creates: bool,
    /// Whether it must not be there.
    pub is_exclusive: bool,
    /// Whether what is in it goes.
    pub truncates: bool,
    /// Its mode if it is made, but for what the process masks.
    pub mode: u32,
}

/// What is to be opened instead.
#[expect(clippy::large_enum_variant, reason = "nothing is allocated here")]
pub(crate) enum Begun {
    /// Nothing else: it is no file that could be published.
    AsIs,
    /// A file that this process is writing already.
    Again(Text),
    /// A new one.
    New(New),
}

/// A file that was made under a hidden name, and is held by a descriptor of this library until the program has one.
pub(crate) struct New {
    pub path: Text,
    written: Written,
    guard: c_int,
    mode: u32,
}

/// Makes the hidden file for what the program wants to write.
pub(crate) fn begin(place: &Place<'_>, intent: Intent) -> Result<Begun, c_int> {
    if place.is_too_long() {
        return Err(c::ENAMETOOLONG);
    }
    if let Some(written) = parts::named(place.directory, place.name) {
        return if intent.is_exclusive { Err(c::EEXIST) } else { Ok(Begun::Again(written.path(place.settings))) };
    }
    let path = place.path();
    let before = match c::facts_of(path.path()) {
        Ok(facts) if !facts.is_file() => return Ok(Begun::AsIs),
        Ok(_) if intent.is_exclusive => return Err(c::EEXIST),
        Ok(_) if !c::may_write(path.path()) => return Err(c::EACCES),
        Ok(facts) => Some(facts),
        Err(c::ENOENT) if intent.creates => None,
        Err(error) => return Err(error),
    };
    let mut new = create(place, before.map_or(intent.mode, |facts| facts.mode & 0o7777))?;
    if let Some(facts) = before {
        // That of the file in whose place it comes, which the process need not mask.
        new.mode = facts.mode & 0o7777;
    }
    new.written.is_exclusive = intent.is_exclusive;
    if before.is_some() && !intent.truncates {
        // What is changed in place is changed in a copy: nobody sees it half changed.
        let from = next::open(path.path(), c::O_RDONLY | c::O_CLOEXEC, 0);
        let copied = if from == -1 { Err(c::errno()) } else { c::copy(from, new.guard) };
        if from != -1 {
            next::close(from);
        }
        if let Err(error) = copied {
            new.discard();
            return Err(error);
        }
    }
    Ok(Begun::New(new))
}

fn create(place: &Place<'_>, mode: u32) -> Result<New, c_int> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    loop {
        // Behind the numbers that the core gives in the same process.
        let number = NEXT.fetch_add(1, Ordering::Relaxed) | 1 << 63;
        let part = Part { process: c::process(), number, name: place.name };
        let mut room = [0; MOST_PART];
        let hidden = part.write(&mut room).ok_or(c::ENAMETOOLONG)?;
        let path = place.settings.join(place.directory, hidden);
        let guard = next::open(path.path(), c::O_RDWR | c::O_CREAT | c::O_EXCL | c::O_CLOEXEC, mode);
        if guard == -1 {
            match c::errno() {
                // A process that had the number of this one has left it.
                c::EEXIST => continue,
                error => return Err(error),
            }
        }
        c::lock_as_writer(guard);
        let facts = match c::facts_of_open(guard) {
            Ok(facts) => facts,
            Err(error) => {
                next::close(guard);
                return Err(error);
            }
        };
        // Between the two, a producer may have taken it for what a dead writer has left.
        if facts.n_links == 0 {
            next::close(guard);
            continue;
        }
        let mode = facts.mode & 0o7777;
        if mode & 0o600 != 0o600 {
            // It has to be opened once more.
            c::set_mode(guard, mode | 0o600);
        }
        let written = Written::of(facts.identity, place.directory, &part);
        return Ok(New { path, written, guard, mode });
    }
}

impl New {
    /// The program has opened it: from now on it is known. `stream` is its address, if it is one.
    pub(crate) fn adopt(mut self, descriptor: c_int, stream: usize) -> Result<(), c_int> {
        if stream != 0 {
            self.written.add_stream(std::ptr::with_exposed_provenance_mut(stream));
        }
        c::lock_as_writer(descriptor);
        c::set_mode(descriptor, self.mode);
        if !parts::add(self.written) {
            self.discard();
            return Err(c::EMFILE);
        }
        next::close(self.guard);
        Ok(())
    }

    /// The program could not open it.
    pub(crate) fn discard(&self) {
        c::keeping_errno(|| {
            c::remove(self.path.path());
            next::close(self.guard);
        });
    }
}
