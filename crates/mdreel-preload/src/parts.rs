//! The files that this process is writing, each under its hidden name: known by device and inode, so that it does not matter how often
//! a descriptor was copied.
//!
//! There is no lock that a thread could hold while another one forks: who changes a place takes it by an atomic, and who finds it taken
//! looks again for a while.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use crate::c::{self, Stream};
use crate::names::{MOST_NAME, MOST_PART, Part};
use crate::place::Settings;
use crate::text::Text;

/// How many files a process may be writing in managed directories.
const MOST: usize = 512;
/// How many streams may write to one file.
const MOST_STREAMS: usize = 4;
const FREE: u32 = 0;
const TAKEN: u32 = 1;
const THERE: u32 = 2;
/// How often is looked again at what another thread has taken: for far longer than anybody takes it for.
const LOOKS: usize = 10_000;

/// A file that is being written.
#[derive(Clone, Copy)]
pub(crate) struct Written {
    pub identity: (u64, u64),
    pub directory: usize,
    /// What its hidden name says.
    process: u32,
    number: u64,
    name: [u8; MOST_NAME],
    length: usize,
    /// How it will be called, where the program has renamed it meanwhile.
    renamed: Option<([u8; MOST_NAME], usize)>,
    /// The process that has to publish it.
    pub owner: u32,
    /// Whether this program was started with it, as standard output for example.
    pub is_inherited: bool,
    /// Whether this program has said in the file's mode that it is to be published by nobody before it ends well.
    pub is_marked: bool,
    /// How long it was when this program was started with it, bytes.
    pub n_bytes: u64,
    /// Whether it must not take the place of another file.
    pub is_exclusive: bool,
    /// Whether something could not be written.
    pub has_failed: bool,
    /// Whether the last that was to be written to it was not written to its end.
    pub is_short: bool,
    /// Whether it may have been written to in a way that nobody sees.
    pub is_unseen: bool,
    /// How many writes are under way of which the program does not know yet how they went.
    pub n_pending: u32,
    /// Whether its owner has closed it, while others still had it open.
    pub is_closed: bool,
    /// The addresses of streams that write to it; 0 where there is none.
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

    /// How it will be called.
    pub(crate) fn name(&self) -> &[u8] {
        let (name, length) = self.renamed.as_ref().map_or((&self.name, self.length), |(name, length)| (name, *length));
        &name[..length]
    }

    pub(crate) fn rename(&mut self, name: &[u8]) {
        let mut room = [0; MOST_NAME];
        room[..name.len()].copy_from_slice(name);
        self.renamed = Some((room, name.len()));
    }

    /// Where it is.
    pub(crate) fn path(&self, settings: &Settings) -> Text {
        let mut room = [0; MOST_PART];
        let part = Part { process: self.process, number: self.number, name: &self.name[..self.length] };
        settings.join(self.directory, part.write(&mut room).unwrap_or_default())
    }

    pub(crate) fn is_ours(&self) -> bool {
        self.owner == c::process()
    }

    /// Whether this process has opened it, be it as another program.
    pub(crate) fn is_ours_to_publish(&self) -> bool {
        self.process == self.owner
    }

    /// Takes note of a stream. Of more than there is room for, errors that nobody asks for go unseen.
    pub(crate) fn add_stream(&mut self, stream: *mut Stream) {
        match self.streams.iter_mut().find(|known| **known == 0) {
            Some(free) => *free = stream.expose_provenance(),
            None => self.is_unseen = true,
        }
    }

    /// Forgets a stream that is closed, with what it knows of failures.
    pub(crate) fn forget_stream(&mut self, stream: *mut Stream) {
        if let Some(known) = self.streams.iter_mut().find(|known| **known == stream.addr()) {
            self.has_failed |= c::has_failed(stream);
            *known = 0;
        }
    }

    /// Whether it is known to lack something, or nobody knows.
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

// SAFETY: what is in the cell is touched only by who has taken the slot.
unsafe impl Sync for Slot {}

static SLOTS: [Slot; MOST] = [const {
    let identity = [const { AtomicU64::new(0) }; 2];
    Slot { state: AtomicU32::new(FREE), identity, written: UnsafeCell::new(None) }
}; MOST];
/// How many places were ever in use: those behind them need not be looked at.
static N_USED: AtomicUsize = AtomicUsize::new(0);
static N_THERE: AtomicUsize = AtomicUsize::new(0);

/// Whether there are any: what is asked by every `close`.
pub(crate) fn any() -> bool {
    N_THERE.load(Ordering::Acquire) > 0
}

fn take(slot: &Slot, from: u32) -> bool {
    slot.state.compare_exchange(from, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_ok()
}

fn give_back(slot: &Slot, state: u32) {
    slot.state.store(state, Ordering::Release);
}

/// Remembers a file; whether there was room.
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

/// Acts on what is in a slot, if there is something.
fn with<T>(slot: &Slot, act: impl FnOnce(&mut Written) -> T) -> Option<T> {
    for _ in 0..LOOKS {
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

/// The file that a descriptor leads to.
pub(crate) fn of(descriptor: i32) -> Option<Written> {
    if !any() {
        return None;
    }
    c::keeping_errno(|| find(c::facts_of_open(descriptor).ok()?.identity))
}

pub(crate) fn find(identity: (u64, u64)) -> Option<Written> {
    with(slot_of(identity)?, |written| *written)
}

/// Changes what is known of a file.
pub(crate) fn change(identity: (u64, u64), act: impl FnOnce(&mut Written)) {
    if let Some(slot) = slot_of(identity) {
        with(slot, act);
    }
}

/// Forgets a file; `false` if another thread has forgotten it.
pub(crate) fn forget(identity: (u64, u64)) -> bool {
    let Some(slot) = slot_of(identity) else { return false };
    for _ in 0..LOOKS {
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

/// All that there are.
pub(crate) fn all() -> impl Iterator<Item = Written> {
    used().filter_map(|slot| with(slot, |written| *written))
}

/// The file that this process is writing under a name.
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
