//! Table of the files that this process is writing under hidden names. Device and inode identify a file, so that copies of a
//! descriptor lead to the same entry.
//!
//! There is no lock, because a thread could hold it while another thread forks. A thread takes a slot with an atomic operation;
//! other threads spin for a limited time.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use crate::c::{self, Stream};
use crate::names::{MOST_NAME, MOST_PART, Part};
use crate::place::Settings;
use crate::text::Text;

/// Maximum number of files that a process writes in managed directories at the same time.
const MOST: usize = 512;
/// Maximum number of streams that write to one file.
const MOST_STREAMS: usize = 4;
const FREE: u32 = 0;
const TAKEN: u32 = 1;
const THERE: u32 = 2;
/// Number of attempts to take a slot. They last much longer than a thread holds a slot.
const ATTEMPTS: usize = 10_000;

/// A file that is being written.
#[derive(Clone, Copy)]
pub(crate) struct Written {
    pub identity: (u64, u64),
    pub directory: usize,
    /// Process id in the hidden name; `number` and `name` are its other parts.
    process: u32,
    number: u64,
    name: [u8; MOST_NAME],
    length: usize,
    /// New final name, if the program has renamed the file.
    renamed: Option<([u8; MOST_NAME], usize)>,
    /// Id of the process that concludes the file.
    pub owner: u32,
    /// Whether this program inherited the file, for example as standard output.
    pub is_inherited: bool,
    /// Whether this program has marked the file, so that it is not published before the program has ended successfully.
    pub is_marked: bool,
    /// Length in bytes when this program inherited the file.
    pub n_bytes: u64,
    /// Whether the file must not replace another one.
    pub is_exclusive: bool,
    /// Whether a write has failed.
    pub has_failed: bool,
    /// Whether the last write was short.
    pub is_short: bool,
    /// Whether calls that this library does not observe may have written to the file.
    pub is_unseen: bool,
    /// Number of asynchronous writes whose outcome the program has not queried yet.
    pub n_pending: u32,
    /// Whether the owner has closed the file while other processes had it open.
    pub is_closed: bool,
    /// Addresses of the streams that write to the file; 0 for unused entries.
    streams: [usize; MOST_STREAMS],
}

impl Written {
    pub(crate) fn of(identity: (u64, u64), directory: usize, part: &Part<'_>) -> Self {
        let mut name = [0; MOST_NAME];
        name[..part.name.len()].copy_from_slice(part.name);
        Written {
            identity,
            directory,
            process: part.process,
            number: part.number,
            name,
            length: part.name.len(),
            renamed: None,
            owner: c::process(),
            is_inherited: false,
            is_marked: false,
            n_bytes: 0,
            is_exclusive: false,
            has_failed: false,
            is_short: false,
            is_unseen: false,
            n_pending: 0,
            is_closed: false,
            streams: [0; MOST_STREAMS],
        }
    }

    /// Returns the final name.
    pub(crate) fn name(&self) -> &[u8] {
        let (name, length) = self.renamed.as_ref().map_or((&self.name, self.length), |(name, length)| (name, *length));
        &name[..length]
    }

    pub(crate) fn rename(&mut self, name: &[u8]) {
        let mut room = [0; MOST_NAME];
        room[..name.len()].copy_from_slice(name);
        self.renamed = Some((room, name.len()));
    }

    /// Returns the path of the hidden file.
    pub(crate) fn path(&self, settings: &Settings) -> Text {
        let mut room = [0; MOST_PART];
        let part = Part { process: self.process, number: self.number, name: &self.name[..self.length] };
        settings.join(self.directory, part.write(&mut room).unwrap_or_default())
    }

    pub(crate) fn is_ours(&self) -> bool {
        self.owner == c::process()
    }

    /// Returns whether this process opened the file, possibly before an `exec`.
    pub(crate) fn is_ours_to_publish(&self) -> bool {
        self.process == self.owner
    }

    /// Records a stream. If the table is full, the file counts as unobserved, because errors of further streams could be missed.
    pub(crate) fn add_stream(&mut self, stream: *mut Stream) {
        match self.streams.iter_mut().find(|known| **known == 0) {
            Some(free) => *free = stream.expose_provenance(),
            None => self.is_unseen = true,
        }
    }

    /// Removes a stream before it is closed, and keeps its error flag.
    pub(crate) fn forget_stream(&mut self, stream: *mut Stream) {
        if let Some(known) = self.streams.iter_mut().find(|known| **known == stream.addr()) {
            self.has_failed |= c::has_failed(stream);
            *known = 0;
        }
    }

    /// Returns whether the file is or may be incomplete.
    pub(crate) fn is_torn(&self) -> bool {
        let mut streams = self.streams.iter().map(|stream| std::ptr::with_exposed_provenance_mut::<Stream>(*stream));
        self.has_failed || self.is_short || self.is_unseen || self.n_pending > 0 || streams.any(c::has_failed)
    }
}

struct Slot {
    state: AtomicU32,
    identity: [AtomicU64; 2],
    written: UnsafeCell<Option<Written>>,
}

// SAFETY: only the thread that has taken the slot accesses the cell.
unsafe impl Sync for Slot {}

static SLOTS: [Slot; MOST] = [const {
    let identity = [const { AtomicU64::new(0) }; 2];
    Slot { state: AtomicU32::new(FREE), identity, written: UnsafeCell::new(None) }
}; MOST];
/// Number of slots that were ever in use. Searches skip the others.
static N_USED: AtomicUsize = AtomicUsize::new(0);
static N_THERE: AtomicUsize = AtomicUsize::new(0);

/// Returns whether the table has entries. Every `close` calls this function.
pub(crate) fn any() -> bool {
    N_THERE.load(Ordering::Acquire) > 0
}

fn take(slot: &Slot, from: u32) -> bool {
    slot.state.compare_exchange(from, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_ok()
}

fn give_back(slot: &Slot, state: u32) {
    slot.state.store(state, Ordering::Release);
}

/// Adds a file. Returns `false` if the table is full.
pub(crate) fn add(written: Written) -> bool {
    let Some((number, slot)) = SLOTS.iter().enumerate().find(|(_, slot)| take(slot, FREE)) else { return false };
    // SAFETY: the slot is taken.
    unsafe { *slot.written.get() = Some(written) };
    slot.identity[0].store(written.identity.0, Ordering::Relaxed);
    slot.identity[1].store(written.identity.1, Ordering::Relaxed);
    N_USED.fetch_max(number + 1, Ordering::AcqRel);
    N_THERE.fetch_add(1, Ordering::AcqRel);
    give_back(slot, THERE);
    true
}

fn used() -> impl Iterator<Item = &'static Slot> {
    SLOTS[..N_USED.load(Ordering::Acquire)].iter()
}

/// Calls `act` with the entry of a slot, if the slot is in use.
fn with<T>(slot: &Slot, act: impl FnOnce(&mut Written) -> T) -> Option<T> {
    for _ in 0..ATTEMPTS {
        match slot.state.load(Ordering::Relaxed) {
            FREE => return None,
            THERE if take(slot, THERE) => {
                // SAFETY: the slot is taken.
                let outcome = unsafe { (*slot.written.get()).as_mut() }.map(act);
                give_back(slot, THERE);
                return outcome;
            }
            _ => std::hint::spin_loop(),
        }
    }
    None
}

fn slot_of(identity: (u64, u64)) -> Option<&'static Slot> {
    let is_it = |slot: &&Slot| {
        slot.identity[1].load(Ordering::Relaxed) == identity.1
            && slot.identity[0].load(Ordering::Relaxed) == identity.0
            && slot.state.load(Ordering::Acquire) != FREE
    };
    used().find(is_it)
}

/// Returns the file of a descriptor.
pub(crate) fn of(descriptor: i32) -> Option<Written> {
    if !any() {
        return None;
    }
    c::keeping_errno(|| find(c::facts_of_open(descriptor).ok()?.identity))
}

pub(crate) fn find(identity: (u64, u64)) -> Option<Written> {
    with(slot_of(identity)?, |written| *written)
}

/// Changes the entry of a file.
pub(crate) fn change(identity: (u64, u64), act: impl FnOnce(&mut Written)) {
    if let Some(slot) = slot_of(identity) {
        with(slot, act);
    }
}

/// Removes a file from the table. Returns `false` if another thread has removed it.
pub(crate) fn forget(identity: (u64, u64)) -> bool {
    let Some(slot) = slot_of(identity) else { return false };
    for _ in 0..ATTEMPTS {
        if take(slot, THERE) {
            N_THERE.fetch_sub(1, Ordering::AcqRel);
            give_back(slot, FREE);
            return true;
        }
        if slot.state.load(Ordering::Relaxed) == FREE {
            return false;
        }
        std::hint::spin_loop();
    }
    true
}

/// Returns all entries.
pub(crate) fn all() -> impl Iterator<Item = Written> {
    used().filter_map(|slot| with(slot, |written| *written))
}

/// Returns the file that this process is writing under the given final name.
pub(crate) fn named(directory: usize, name: &[u8]) -> Option<Written> {
    if !any() {
        return None;
    }
    all().find(|written| {
        written.directory == directory
            && written.name() == name
            && written.is_ours()
            && !written.is_inherited
            && !written.is_closed
    })
}
