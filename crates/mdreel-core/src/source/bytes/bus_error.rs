//! Handling of SIGBUS, which the kernel sends when a mapped page no longer belongs to the file.
//!
//! The rest of the core keeps no module state. Here it cannot be avoided: a signal handler belongs to the process and
//! receives nothing but an address, so its data must be in statics. They are atomics in a table of fixed size. The
//! handler reads the table without a lock and without allocating memory (signal-safety(7)).

use std::ffi::{c_int, c_void};
use std::ops::Range;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering, fence};

/// Maximum number of guarded maps. When all slots are taken, files are read instead.
const N_SLOTS: usize = 1024;

/// Value of `start` in a slot that is taken but not yet filled. No page has this address.
const TAKEN: usize = 1;

static SLOTS: [Slot; N_SLOTS] = [const { Slot::new() }; N_SLOTS];

/// Previous action for SIGBUS. It is written once, before our handler is installed, and never freed.
static PREVIOUS: AtomicPtr<libc::sigaction> = AtomicPtr::new(ptr::null_mut());

/// Page size, a power of two. It is written before our handler is installed.
static PAGE: AtomicUsize = AtomicUsize::new(0);

/// A guarded map, or a free slot (`start` is 0).
#[derive(Debug)]
struct Slot {
    start: AtomicUsize,
    end: AtomicUsize,
    /// The first address that could not be read; 0 if there is none.
    broken_at: AtomicUsize,
}

impl Slot {
    const fn new() -> Self {
        Slot { start: AtomicUsize::new(0), end: AtomicUsize::new(0), broken_at: AtomicUsize::new(0) }
    }

    /// Returns the guarded addresses if `address` is one of them. It reads `start` twice to detect that the slot was
    /// given to another map in between.
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

/// A guard for a range of addresses. Dropping it ends the protection.
#[derive(Debug)]
pub(super) struct Guard {
    slot: &'static Slot,
}

impl Guard {
    /// Guards `addresses`, which must be whole pages of a read-only map of a file. Returns `None` if no slot is free,
    /// or if our handler does not receive SIGBUS.
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

    /// Returns the first address that could not be read.
    pub(super) fn broken_at(&self) -> Option<usize> {
        // The mapped bytes were read before. The fence keeps the processor from moving the load of the flag before
        // those reads.
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

/// Returns whether a SIGBUS on this thread reaches our handler. Other code may have replaced the handler or blocked the
/// signal. Maps are then unsafe, and we do not install our handler again.
pub(super) fn is_handled() -> bool {
    // SAFETY: all-zero is a valid value of these plain C structures, and both calls only write to them.
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

/// Installs our handler at the first call. Returns whether the handler receives signals on this thread.
fn install() -> bool {
    static INSTALLED: OnceLock<bool> = OnceLock::new();
    let installed = *INSTALLED.get_or_init(|| {
        // SAFETY: all-zero is a valid value of these plain C structures. The handler does only what a handler may do
        // (see its comments). It finds its data because PREVIOUS and PAGE are written first.
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
            // Threads with an alternate stack have it because their own stack may be too small for a handler.
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
            libc::sigemptyset(&mut action.sa_mask);
            libc::sigaction(libc::SIGBUS, &action, ptr::null_mut()) == 0
        }
    });
    installed && is_handled()
}

/// Handles a signal. The kernel calls this function on the thread that touched the page.
extern "C" fn on_bus_error(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes a valid `info` to a handler with SA_SIGINFO. For faults, `si_code` is above 0 and
    // `info` holds the address. Signals sent by a process have another `si_code`.
    let (by_system, address) = unsafe { ((*info).si_code > 0, (*info).si_addr() as usize) };
    if by_system && SLOTS.iter().any(|slot| replace(slot, address)) {
        return;
    }
    pass_on(signal, info, context, by_system);
}

/// If `slot` guards `address`, marks the map as broken and replaces it by zeros from this page to its end, so that the
/// read can continue.
fn replace(slot: &Slot, address: usize) -> bool {
    let Some(guarded) = slot.guards(address) else { return false };
    let start = address & !(PAGE.load(Ordering::Acquire) - 1);
    // The map is marked before any thread can see the zeros.
    slot.break_at(address);
    let errno = errno_place();
    // SAFETY: the pages lie within a map that this table guards. Nobody unmaps it while it is being read, because
    // slices of it borrow it, and nobody writes to it. `mmap` is a bare system call and safe in a handler. It may
    // change the error number, which belongs to the interrupted code and is restored.
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
    // SAFETY: PREVIOUS was written before this handler was installed, and it is never freed.
    let (action, flags) = unsafe { ((*previous).sa_sigaction, (*previous).sa_flags) };
    if action == libc::SIG_IGN && !by_system {
        return;
    }
    if action == libc::SIG_DFL || action == libc::SIG_IGN {
        // The kernel also ends a process that ignores its fault. So the default action is restored. Once this handler has
        // returned, the fault occurs again, or the raised signal arrives.
        // SAFETY: both calls are safe in a handler, and an all-zero sigaction is the default action.
        unsafe {
            let default: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, &default, ptr::null_mut());
            if !by_system {
                libc::raise(signal);
            }
        }
    } else if flags & libc::SA_SIGINFO != 0 {
        // SAFETY: the code that installed the action declared it to be a function of this type.
        unsafe {
            let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) = std::mem::transmute(action);
            handler(signal, info, context);
        }
    } else {
        // SAFETY: the same argument applies.
        unsafe {
            let handler: extern "C" fn(c_int) = std::mem::transmute(action);
            handler(signal);
        }
    }
}

#[cfg(any(target_os = "linux", target_os = "emscripten", target_os = "hurd"))]
fn errno_place() -> *mut c_int {
    // SAFETY: the call always returns the address of the thread's own error number.
    unsafe { libc::__errno_location() }
}

#[cfg(target_os = "android")]
fn errno_place() -> *mut c_int {
    // SAFETY: the call always returns the address of the thread's own error number.
    unsafe { libc::__errno() }
}

#[cfg(any(target_vendor = "apple", target_os = "freebsd"))]
fn errno_place() -> *mut c_int {
    // SAFETY: the call always returns the address of the thread's own error number.
    unsafe { libc::__error() }
}

#[cfg(any(target_os = "netbsd", target_os = "openbsd"))]
fn errno_place() -> *mut c_int {
    // SAFETY: the call always returns the address of the thread's own error number.
    unsafe { libc::__errno() }
}
