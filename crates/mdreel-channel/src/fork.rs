//! Files that hold locks, and their replacement in forked children.
//!
//! A child that was forked without `exec` has all open files of its parent, and the kernel drops a lock of an open file
//! (`F_OFD_SETLK`) only with the file's last descriptor. A parent that dies would therefore count as alive for as long as its
//! child lives, and its successor could not take the lock. This module lists the descriptors that hold locks. Before `fork`
//! returns in the child, a handler replaces each of them with a placeholder file. The handler does not close them, because their
//! owners, of which the child has copies, will do that.
//!
//! Handlers of `fork` and the data that they read belong to the process, and so does the list. In the child, the handler executes
//! only atomic instructions and system calls, as other threads may have held any lock of the process.

use std::fs::File;
use std::os::fd::{AsRawFd, IntoRawFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};

use mdreel_core::error::{Error, Result};

/// The value of an entry without a descriptor.
const NONE: i32 = -1;
/// The number of files that may hold locks at a time. A consumer has one; a producer with staging has two.
const MOST: usize = 4096;
/// The descriptors that hold locks.
static LISTED: [AtomicI32; MOST] = [const { AtomicI32::new(NONE) }; MOST];
/// The descriptor of the placeholder file that children get instead.
static NOTHING: AtomicI32 = AtomicI32::new(NONE);
static IS_REGISTERED: AtomicBool = AtomicBool::new(false);
static BEGUN: AtomicU64 = AtomicU64::new(0);
static ENDED: AtomicU64 = AtomicU64::new(0);
/// The number of forks between the process that was started and this one.
static GENERATION: AtomicU64 = AtomicU64::new(0);

/// A file that forked children do not keep.
#[derive(Debug)]
pub(super) struct Unshared {
    path: PathBuf,
    file: File,
    place: usize,
    generation: u64,
}

impl Unshared {
    /// Opens a file with `open`, which may be called more than once.
    pub(super) fn open(path: &Path, open: impl Fn() -> Result<File>) -> Result<Self> {
        register().map_err(|error| Error::io(path, error))?;
        loop {
            // Because of this order, equal numbers mean that no fork was in progress.
            let ended = ENDED.load(Ordering::SeqCst);
            let begun = BEGUN.load(Ordering::SeqCst);
            if ended >= begun {
                let file = open()?;
                let place = list(path, file.as_raw_fd())?;
                let generation = GENERATION.load(Ordering::SeqCst);
                let unshared = Unshared { path: path.to_owned(), file, place, generation };
                if BEGUN.load(Ordering::SeqCst) == begun {
                    return Ok(unshared);
                }
                // A fork on another thread may have come between opening and listing the file. Its child then has a file that has
                // no locks yet and will not get any.
            }
            std::thread::yield_now();
        }
    }

    /// Returns the file, unless this process is a child that was forked after the file was opened.
    pub(super) fn get(&self) -> Result<&File> {
        self.check()?;
        Ok(&self.file)
    }

    /// Returns whether this process has opened the file.
    pub(super) fn is_ours(&self) -> bool {
        self.generation == GENERATION.load(Ordering::Relaxed)
    }

    /// Returns an error if this process is a child that was forked after the file was opened.
    pub(super) fn check(&self) -> Result<()> {
        if self.is_ours() {
            return Ok(());
        }
        let message = "it was opened before this process was forked, and belongs to the parent: open it anew";
        Err(Error::stream(message).in_file(&self.path))
    }
}

impl Drop for Unshared {
    fn drop(&mut self) {
        // The child has cleared the list, and may have used its entries for files that it has opened itself.
        if self.is_ours() {
            LISTED[self.place].store(NONE, Ordering::SeqCst);
        }
    }
}

fn list(path: &Path, descriptor: i32) -> Result<usize> {
    let taken =
        |place: &AtomicI32| place.compare_exchange(NONE, descriptor, Ordering::SeqCst, Ordering::Relaxed).is_ok();
    let place = LISTED.iter().position(taken);
    place.ok_or_else(|| Error::unsupported(format!("one process has {MOST} channels open")).in_file(path))
}

/// Registers the fork handlers once.
fn register() -> std::io::Result<()> {
    if IS_REGISTERED.load(Ordering::Acquire) {
        return Ok(());
    }
    // Two threads may reach this point at the same time. Registering the handlers twice does no harm.
    let nothing = rustix::event::eventfd(0, rustix::event::EventfdFlags::CLOEXEC)?;
    if NOTHING.compare_exchange(NONE, nothing.as_raw_fd(), Ordering::SeqCst, Ordering::Relaxed).is_ok() {
        // The descriptor stays open for as long as the process lives.
        let _ = nothing.into_raw_fd();
    }
    // SAFETY: the handlers are functions with a static lifetime, and they do only what a fork handler may do.
    let outcome = unsafe { pthread_atfork(Some(before), Some(in_parent), Some(in_child)) };
    if outcome != 0 {
        return Err(std::io::Error::from_raw_os_error(outcome));
    }
    IS_REGISTERED.store(true, Ordering::Release);
    Ok(())
}

type Handler = extern "C" fn();

// The `libc` crate declares this function for other systems only.
unsafe extern "C" {
    fn pthread_atfork(before: Option<Handler>, parent: Option<Handler>, child: Option<Handler>) -> libc::c_int;
}

extern "C" fn before() {
    BEGUN.fetch_add(1, Ordering::SeqCst);
}

extern "C" fn in_parent() {
    ENDED.fetch_add(1, Ordering::SeqCst);
}

extern "C" fn in_child() {
    GENERATION.fetch_add(1, Ordering::SeqCst);
    let nothing = NOTHING.load(Ordering::SeqCst);
    for place in &LISTED {
        let descriptor = place.swap(NONE, Ordering::SeqCst);
        // SAFETY: both are descriptors of this process. The second one is the child's copy of a file that it must not keep.
        let give_up = || unsafe { libc::dup3(nothing, descriptor, libc::O_CLOEXEC) };
        while descriptor != NONE && give_up() == -1 && is_to_be_tried_again() {}
    }
    // Other threads that were forking do not exist in the child.
    ENDED.store(BEGUN.load(Ordering::SeqCst), Ordering::SeqCst);
}

/// Returns whether the last system call was interrupted, or collided with another one that was opening the same descriptor.
fn is_to_be_tried_again() -> bool {
    // SAFETY: the address is that of this thread's own error number.
    matches!(unsafe { *libc::__errno_location() }, libc::EINTR | libc::EBUSY)
}
