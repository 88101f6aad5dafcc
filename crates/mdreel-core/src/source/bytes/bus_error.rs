//! SIGBUS, which the system sends when a mapped page no longer belongs to the file.
//!
//! The rest of the core keeps no module state. Here it cannot be avoided: a signal's handler belongs to the process
//! and is called with nothing but an address, so what it must know has to be in statics. They are atomics in a table
//! of fixed size, which the handler reads without a lock and without allocating (signal-safety(7)).

use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering, fence};

/// Maps that can be guarded at a time. When all places are taken, files are read instead.
const N_SLOTS: usize = 1024;

/// `start` of a slot that has been taken but not filled: no page lies there.
const TAKEN: usize = 1;

static SLOTS: [Slot; N_SLOTS] = [const { Slot::new() }; N_SLOTS];

/// Previous action for SIGBUS; written once, before the handler is installed, and never freed.
static PREVIOUS: AtomicPtr<libc::sigaction> = AtomicPtr::new(ptr::null_mut());

/// A power of two; written before our handler is in place.
static PAGE: AtomicUsize = AtomicUsize::new(0);

/// A guarded map, or a free place (`start` is 0).
#[derive(Debug)]
struct Slot {
    start: AtomicUsize,
    end: AtomicUsize,
    /// The first address that could not be read; 0 while all is well.
    broken_at: AtomicUsize,
}

impl Slot {
    const fn new() -> Self {
        Slot { start: AtomicUsize::new(0), end: AtomicUsize::new(0), broken_at: AtomicUsize::new(0) }
    }

    /// The addresses guarded, if `address` is among them. `start` is read twice: it tells whether the slot went to
    /// another map in between.
    fn guards(&self, address: usize) -> Option<Range<usize>> {
        let start = self.start.load(Ordering::Acquire);
        let end = self.end.load(Ordering::Acquire);
        (start <= address && address < end && start > TAKEN && self.start.load(Ordering::Acquire) == start)
            .then_some(start..end)
    }

    fn break_at(&self, address: usize) {
        let _ = self.broken_at.compare_exchange(0, address, Ordering::AcqRel, Ordering::Acquire);
    }
}

/// Keeps a range of addresses under guard; ends with its value.
#[derive(Debug)]
pub(super) struct Guard {
    slot: &'static Slot,
}

impl Guard {
    /// Puts `addresses` (whole pages, a map of a file, read-only) under guard. `None`: no place is free, or SIGBUS
    /// is not ours to handle.
    pub(super) fn new(addresses: Range<usize>) -> Option<Self> {
        if !install() {
            return None;
        }
        let free = |slot: &&Slot| slot.start.compare_exchange(0, TAKEN, Ordering::AcqRel, Ordering::Relaxed).is_ok();
        let slot = SLOTS.iter().find(free)?;
        slot.broken_at.store(0, Ordering::Release);
        slot.end.store(addresses.end, Ordering::Release);
        slot.start.store(addresses.start, Ordering::Release);
        Some(Guard { slot })
    }

    /// The first address that could not be read.
    pub(super) fn broken_at(&self) -> Option<usize> {
        // The bytes were read before; on processors that reorder loads the flag must not be.
        fence(Ordering::Acquire);
        let address = self.slot.broken_at.load(Ordering::Acquire);
        (address != 0).then_some(address)
    }

    /// Marks the map as invalid from `address` on.
    pub(super) fn break_at(&self, address: usize) {
        self.slot.break_at(address);
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.slot.end.store(0, Ordering::Release);
        self.slot.start.store(0, Ordering::Release);
    }
}

/// Whether a SIGBUS on this thread reaches our handler. Somebody may have put another one over it, or blocked the
/// signal; then maps are not safe, and we do not fight over who comes first.
pub(super) fn is_handled() -> bool {
    // SAFETY: plain C structures for which all-zero is a valid value; both calls only write to them.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        let mut blocked: libc::sigset_t = std::mem::zeroed();
        libc::sigaction(libc::SIGBUS, ptr::null(), &mut action) == 0
            && action.sa_sigaction == handler_address()
            && libc::pthread_sigmask(libc::SIG_BLOCK, ptr::null(), &mut blocked) == 0
            && libc::sigismember(&blocked, libc::SIGBUS) == 0
    }
}

fn handler_address() -> libc::sighandler_t {
    let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) = on_bus_error;
    handler as libc::sighandler_t
}

/// Puts our handler in place when it is needed first.
fn install() -> bool {
    static INSTALLED: OnceLock<bool> = OnceLock::new();
    let installed = *INSTALLED.get_or_init(|| {
        // SAFETY: plain C structures for which all-zero is a valid value; the handler does only what a handler may
        // (see there), and finds what it needs because PREVIOUS and PAGE are written first.
        unsafe {
            let page = libc::sysconf(libc::_SC_PAGESIZE);
            let mut previous: libc::sigaction = std::mem::zeroed();
            if page <= 0 || libc::sigaction(libc::SIGBUS, ptr::null(), &mut previous) != 0 {
                return false;
            }
            PAGE.store(page as usize, Ordering::Release);
            PREVIOUS.store(Box::into_raw(Box::new(previous)), Ordering::Release);
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = handler_address();
            // Threads with an alternate stack have it because theirs may be too small for a handler.
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
            libc::sigemptyset(&mut action.sa_mask);
            libc::sigaction(libc::SIGBUS, &action, ptr::null_mut()) == 0
        }
    });
    installed && is_handled()
}

/// Called by the system, on the thread that touched the page.
extern "C" fn on_bus_error(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: a handler with SA_SIGINFO is given a valid `info`; for faults (`si_code` above 0, the rest was sent by a
    // process) it holds the address.
    let (by_system, address) = unsafe { ((*info).si_code > 0, (*info).si_addr() as usize) };
    if by_system && SLOTS.iter().any(|slot| replace(slot, address)) {
        return;
    }
    pass_on(signal, info, context, by_system);
}

/// If `slot` guards `address`: puts zeros in place of the map, from there to its end, so the read can go on, and
/// marks the map as broken.
fn replace(slot: &Slot, address: usize) -> bool {
    let Some(guarded) = slot.guards(address) else { return false };
    let start = address & !(PAGE.load(Ordering::Acquire) - 1);
    // Marked before the zeros can be seen, by this thread or another.
    slot.break_at(address);
    let errno = errno_place();
    // SAFETY: the pages lie within a map that this table guards, which nobody unmaps while it is being read (slices
    // of it borrow it) and nobody writes to; mmap is a bare system call, safe in a handler, and the error number that
    // it may change belongs to the code interrupted and is put back.
    unsafe {
        let kept = *errno;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANON | libc::MAP_FIXED | libc::MAP_NORESERVE;
        let zeros = libc::mmap(start as *mut c_void, guarded.end - start, libc::PROT_READ, flags, -1, 0);
        *errno = kept;
        zeros != libc::MAP_FAILED
    }
}

/// Performs the previous action.
fn pass_on(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void, by_system: bool) {
    let previous = PREVIOUS.load(Ordering::Acquire);
    // SAFETY: written before this handler was in place, never freed.
    let (action, flags) = unsafe { ((*previous).sa_sigaction, (*previous).sa_flags) };
    if action == libc::SIG_IGN && !by_system {
        return;
    }
    if action == libc::SIG_DFL || action == libc::SIG_IGN {
        // The system ends a process that ignores its fault, too: as if we had never been here, the fault is met again
        // (or the signal sent again) once this handler has returned.
        // SAFETY: both calls are safe in a handler; an all-zero sigaction is the default action.
        unsafe {
            let default: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, &default, ptr::null_mut());
            if !by_system {
                libc::raise(signal);
            }
        }
    } else if flags & libc::SA_SIGINFO != 0 {
        // SAFETY: whoever installed the action said that it is a function of this type.
        unsafe {
            let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) = std::mem::transmute(action);
            handler(signal, info, context);
        }
    } else {
        // SAFETY: as above.
        unsafe {
            let handler: extern "C" fn(c_int) = std::mem::transmute(action);
            handler(signal);
        }
    }
}

#[cfg(any(target_os = "linux", target_os = "emscripten", target_os = "hurd"))]
fn errno_place() -> *mut c_int {
    // SAFETY: returns the thread's own error number's address, always.
    unsafe { libc::__errno_location() }
}

#[cfg(target_os = "android")]
fn errno_place() -> *mut c_int {
    // SAFETY: returns the thread's own error number's address, always.
    unsafe { libc::__errno() }
}

#[cfg(any(target_vendor = "apple", target_os = "freebsd"))]
fn errno_place() -> *mut c_int {
    // SAFETY: returns the thread's own error number's address, always.
    unsafe { libc::__error() }
}

#[cfg(any(target_os = "netbsd", target_os = "openbsd"))]
fn errno_place() -> *mut c_int {
    // SAFETY: returns the thread's own error number's address, always.
    unsafe { libc::__errno() }
}
