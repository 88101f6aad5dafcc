//! Creation of files under hidden names.

use std::ffi::c_int;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::c;
use crate::names::{MOST_PART, Part};
use crate::next;
use crate::parts::{self, Written};
use crate::place::Place;
use crate::text::Text;

/// The flags and mode with which a program opens a file to write.
#[derive(Clone, Copy)]
pub(crate) struct Intent {
    /// Whether the call creates a missing file.
    pub creates: bool,
    /// Whether the call fails if the file exists.
    pub is_exclusive: bool,
    /// Whether the call discards the content.
    pub truncates: bool,
    /// Mode of a new file, before the mask of the process applies.
    pub mode: u32,
}

/// The file to open instead.
#[expect(clippy::large_enum_variant, reason = "nothing is allocated here")]
pub(crate) enum Begun {
    /// The named file, which is not a regular file and cannot be published.
    AsIs,
    /// A hidden file that this process is already writing.
    Again(Text),
    /// A new hidden file.
    New(New),
}

/// A new file with a hidden name. A descriptor of this library keeps it open until the program has its own.
pub(crate) struct New {
    pub path: Text,
    written: Written,
    guard: c_int,
    mode: u32,
}

/// Creates the hidden file that the program will write.
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
        // The new file keeps the mode of the file that it replaces; the mask does not apply.
        new.mode = facts.mode & 0o7777;
    }
    new.written.is_exclusive = intent.is_exclusive;
    if before.is_some() && !intent.truncates {
        // The program changes a copy, so that readers never see a partly changed file.
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
        // The highest bit keeps these numbers apart from those that the core uses in the same process.
        let number = NEXT.fetch_add(1, Ordering::Relaxed) | 1 << 63;
        let part = Part { process: c::process(), number, name: place.name };
        let mut room = [0; MOST_PART];
        let hidden = part.write(&mut room).ok_or(c::ENAMETOOLONG)?;
        let path = place.settings.join(place.directory, hidden);
        let guard = next::open(path.path(), c::O_RDWR | c::O_CREAT | c::O_EXCL | c::O_CLOEXEC, mode);
        if guard == -1 {
            match c::errno() {
                // An earlier process with the same id has left this file behind.
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
        // Between creation and lock, a producer may have removed the file as a leftover of a dead writer.
        if facts.n_links == 0 {
            next::close(guard);
            continue;
        }
        let mode = facts.mode & 0o7777;
        if mode & 0o600 != 0o600 {
            // The program opens the file again, to read and write.
            c::set_mode(guard, mode | 0o600);
        }
        let written = Written::of(facts.identity, place.directory, &part);
        return Ok(New { path, written, guard, mode });
    }
}

impl New {
    /// Registers the file after the program has opened it. `stream` is the address of the program's stream, or 0.
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

    /// Removes the file after the program has failed to open it.
    pub(crate) fn discard(&self) {
        c::keeping_errno(|| {
            c::remove(self.path.path());
            next::close(self.guard);
        });
    }
}
