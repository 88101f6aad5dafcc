//! Functions of the C library that this library calls. They are declared here because it has no dependencies.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

use crate::next::next;

pub(crate) const ENOENT: c_int = 2;
pub(crate) const EINTR: c_int = 4;
pub(crate) const EIO: c_int = 5;
pub(crate) const EACCES: c_int = 13;
pub(crate) const EWOULDBLOCK: c_int = 11;
pub(crate) const EEXIST: c_int = 17;
pub(crate) const EINVAL: c_int = 22;
pub(crate) const EMFILE: c_int = 24;
pub(crate) const EFBIG: c_int = 27;
pub(crate) const ENOSPC: c_int = 28;
pub(crate) const ENAMETOOLONG: c_int = 36;
pub(crate) const ENOSYS: c_int = 38;
pub(crate) const ETIMEDOUT: c_int = 110;
pub(crate) const EDQUOT: c_int = 122;
pub(crate) const ECANCELED: c_int = 125;
pub(crate) const EOWNERDEAD: c_int = 130;

pub(crate) const O_ACCMODE: c_int = 3;
pub(crate) const O_RDONLY: c_int = 0;
pub(crate) const O_WRONLY: c_int = 1;
pub(crate) const O_RDWR: c_int = 2;
pub(crate) const O_CREAT: c_int = 0o100;
pub(crate) const O_EXCL: c_int = 0o200;
pub(crate) const O_TRUNC: c_int = 0o1000;
pub(crate) const O_APPEND: c_int = 0o2000;
pub(crate) const O_DIRECTORY: c_int = if cfg!(target_arch = "x86_64") { 0o200_000 } else { 0o40_000 };
pub(crate) const O_NOFOLLOW: c_int = if cfg!(target_arch = "x86_64") { 0o400_000 } else { 0o100_000 };
pub(crate) const O_CLOEXEC: c_int = 0o2_000_000;
pub(crate) const O_PATH: c_int = 0o10_000_000;

pub(crate) const AT_FDCWD: c_int = -100;
const AT_SYMLINK_NOFOLLOW: c_int = 0x100;
const AT_EACCESS: c_int = 0x200;
const AT_EMPTY_PATH: c_int = 0x1000;
const STATX_BASIC_STATS: c_uint = 0x7ff;
const LOCK_SH: c_int = 1;
const LOCK_EX: c_int = 2;
const LOCK_NB: c_int = 4;
const LOCK_UN: c_int = 8;
const W_OK: c_int = 2;
const F_OFD_GETLK: c_int = 36;
const F_WRLCK: i16 = 1;
const F_UNLCK: i16 = 2;
const POLLIN: i16 = 1;
const IN_CLOEXEC_NONBLOCK: c_int = 0o2_004_000;
const IN_MOVED_TO_CREATE: u32 = 0x80 | 0x100;
const SA_RESTART: c_int = 0x1000_0000;
const RENAME_NOREPLACE: c_uint = 1;

/// A stream of the C library.
pub(crate) enum Stream {}

#[repr(C)]
struct Statx {
    mask: u32,
    block: u32,
    attributes: u64,
    n_links: u32,
    user: u32,
    group: u32,
    mode: u16,
    spare: u16,
    inode: u64,
    /// Size, number of blocks, attributes and four times.
    others: [u64; 11],
    device_of_special: [u32; 2],
    device: [u32; 2],
    more: [u64; 14],
}

#[repr(C)]
struct Flock {
    kind: i16,
    whence: i16,
    start: i64,
    length: i64,
    process: i32,
}

#[repr(C)]
struct Poll {
    descriptor: c_int,
    wanted: i16,
    seen: i16,
}

#[repr(C)]
struct Sigaction {
    handler: usize,
    mask: [u64; 16],
    flags: c_int,
    restorer: usize,
}

unsafe extern "C" {
    fn __errno_location() -> *mut c_int;
    fn flock(descriptor: c_int, how: c_int) -> c_int;
    fn fcntl(descriptor: c_int, what: c_int, ...) -> c_int;
    fn fchmod(descriptor: c_int, mode: c_uint) -> c_int;
    fn pread(descriptor: c_int, into: *mut c_void, n_bytes: usize, at: i64) -> isize;
    fn read(descriptor: c_int, into: *mut c_void, n_bytes: usize) -> isize;
    fn readlink(path: *const c_char, into: *mut c_char, n_bytes: usize) -> isize;
    fn poll(of: *mut Poll, n: u64, milliseconds: c_int) -> c_int;
    fn inotify_init1(flags: c_int) -> c_int;
    fn inotify_add_watch(descriptor: c_int, path: *const c_char, mask: u32) -> c_int;
    fn sigaction(signal: c_int, new: *const Sigaction, old: *mut Sigaction) -> c_int;
    fn getenv(name: *const c_char) -> *const c_char;
    fn getpid() -> c_int;
    fn fileno(stream: *mut Stream) -> c_int;
    fn ferror(stream: *mut Stream) -> c_int;
    fn fflush(stream: *mut Stream) -> c_int;
    static stdout: *mut Stream;
    static stderr: *mut Stream;
    fn on_exit(handler: extern "C" fn(c_int, *mut c_void), argument: *mut c_void) -> c_int;
}

pub(crate) fn errno() -> c_int {
    // SAFETY: the address is that of this thread's error number.
    unsafe { *__errno_location() }
}

pub(crate) fn set_errno(number: c_int) {
    // SAFETY: the address is that of this thread's error number.
    unsafe { *__errno_location() = number }
}

/// Runs `act` and restores the error number.
pub(crate) fn keeping_errno<T>(act: impl FnOnce() -> T) -> T {
    let before = errno();
    let outcome = act();
    set_errno(before);
    outcome
}

/// Metadata of a file.
#[derive(Clone, Copy)]
pub(crate) struct Facts {
    /// Device and inode, which identify a file independent of its name.
    pub identity: (u64, u64),
    pub mode: u32,
    pub n_links: u32,
    pub n_bytes: u64,
}

impl Facts {
    pub(crate) fn is_file(&self) -> bool {
        self.mode & 0o170_000 == 0o100_000
    }
}

fn facts(directory: c_int, path: &CStr, flags: c_int) -> Result<Facts, c_int> {
    let mut found = std::mem::MaybeUninit::<Statx>::zeroed();
    type Next = unsafe extern "C" fn(c_int, *const c_char, c_int, c_uint, *mut Statx) -> c_int;
    if next!(c"statx" as Next, (directory, path.as_ptr(), flags, STATX_BASIC_STATS, found.as_mut_ptr()), -1) != 0 {
        return Err(errno());
    }
    // SAFETY: the structure consists of integers, which are initialized with zeros.
    let found = unsafe { found.assume_init() };
    let device = u64::from(found.device[0]) << 32 | u64::from(found.device[1]);
    let identity = (device, found.inode);
    Ok(Facts { identity, mode: u32::from(found.mode), n_links: found.n_links, n_bytes: found.others[0] })
}

/// Returns the metadata of the file at a path, following a link.
pub(crate) fn facts_at(directory: c_int, path: &CStr) -> Result<Facts, c_int> {
    facts(directory, path, 0)
}

/// Returns the metadata of the file at a path, without following a link.
pub(crate) fn facts_of(path: &CStr) -> Result<Facts, c_int> {
    facts(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW)
}

/// Returns the metadata of an open file.
pub(crate) fn facts_of_open(descriptor: c_int) -> Result<Facts, c_int> {
    facts(descriptor, c"", AT_EMPTY_PATH)
}

/// Returns whether the program may write to a file.
pub(crate) fn may_write(path: &CStr) -> bool {
    type Next = unsafe extern "C" fn(c_int, *const c_char, c_int, c_int) -> c_int;
    next!(c"faccessat" as Next, (AT_FDCWD, path.as_ptr(), W_OK, AT_EACCESS), -1) == 0
}

/// Locks a file as one of its writers, until all copies of the descriptor are closed in all processes.
pub(crate) fn lock_as_writer(descriptor: c_int) {
    // SAFETY: the arguments are integers. Errors are ignored, because some file systems have no locks.
    unsafe { flock(descriptor, LOCK_SH | LOCK_NB) };
}

/// Returns whether no writer has the file open any more, and locks it, so that only one caller gets `true`.
pub(crate) fn lock_as_last(descriptor: c_int) -> bool {
    // SAFETY: the arguments are integers.
    let is_locked = unsafe { flock(descriptor, LOCK_EX | LOCK_NB) } == 0;
    is_locked || errno() != EWOULDBLOCK
}

pub(crate) fn unlock(descriptor: c_int) {
    // SAFETY: the arguments are integers.
    unsafe { flock(descriptor, LOCK_UN) };
}

/// Returns whether a process has locked a byte of an open file. Returns `false` on file systems without locks.
pub(crate) fn is_locked(descriptor: c_int, byte: u64) -> bool {
    let mut lock = Flock { kind: F_WRLCK, whence: 0, start: byte.cast_signed(), length: 1, process: 0 };
    // SAFETY: the kernel writes only to the structure.
    unsafe { fcntl(descriptor, F_OFD_GETLK, &raw mut lock) == 0 && lock.kind != F_UNLCK }
}

pub(crate) fn set_mode(descriptor: c_int, mode: u32) -> bool {
    // SAFETY: the arguments are integers.
    unsafe { fchmod(descriptor, mode & 0o7777) == 0 }
}

/// Reads the start of an open file and returns the number of bytes.
pub(crate) fn read_start(descriptor: c_int, into: &mut [u8]) -> usize {
    // SAFETY: the buffer has `into.len()` bytes.
    let n_bytes = unsafe { pread(descriptor, into.as_mut_ptr().cast(), into.len(), 0) };
    usize::try_from(n_bytes).unwrap_or(0)
}

/// Copies the content of an open file to another open file.
pub(crate) fn copy(from: c_int, to: c_int) -> Result<(), c_int> {
    type Next = unsafe extern "C" fn(c_int, c_int, *mut i64, usize) -> isize;
    loop {
        // Without an offset, the kernel uses and advances the position of the file.
        match next!(c"sendfile" as Next, (to, from, std::ptr::null_mut(), 1 << 30), -1) {
            0 => return Ok(()),
            n_bytes if n_bytes < 0 && errno() != EINTR => return Err(errno()),
            _ => {}
        }
    }
}

pub(crate) fn remove(path: &CStr) {
    type Next = unsafe extern "C" fn(*const c_char) -> c_int;
    next!(c"unlink" as Next, (path.as_ptr()), -1);
}

/// Reads the target of a link and returns the number of bytes.
pub(crate) fn target_of(link: &CStr, into: &mut [u8]) -> usize {
    // SAFETY: the buffer has `into.len()` bytes.
    let n_bytes = unsafe { readlink(link.as_ptr(), into.as_mut_ptr().cast(), into.len()) };
    usize::try_from(n_bytes).unwrap_or(0)
}

/// Returns an inotify descriptor that reports new files of a directory, or -1.
pub(crate) fn notices_of(directory: &CStr) -> c_int {
    // SAFETY: the path ends with a zero byte.
    unsafe {
        let notices = inotify_init1(IN_CLOEXEC_NONBLOCK);
        inotify_add_watch(notices, directory.as_ptr(), IN_MOVED_TO_CREATE);
        notices
    }
}

/// Sleeps until inotify reports events or the time is over, and discards the events. Returns `false` after a signal.
pub(crate) fn sleep(notices: c_int, milliseconds: c_int) -> bool {
    let mut of = Poll { descriptor: notices, wanted: POLLIN, seen: 0 };
    // SAFETY: `poll` gets one structure, and ignores a negative descriptor.
    let n_ready = unsafe { poll(&raw mut of, 1, milliseconds) };
    if n_ready > 0 {
        let mut taken = [0_u8; 1024];
        // SAFETY: the buffer has `taken.len()` bytes.
        while unsafe { read(notices, taken.as_mut_ptr().cast(), taken.len()) } > 0 {}
    }
    n_ready >= 0 || errno() != EINTR
}

/// Returns whether the program has a signal handler that interrupts system calls.
pub(crate) fn is_interruptible() -> bool {
    (1..32).any(|signal| {
        let mut action = std::mem::MaybeUninit::<Sigaction>::zeroed();
        // SAFETY: the structure is as large as the C library's, and consists of integers that are initialized with zeros.
        let (outcome, action) =
            unsafe { (sigaction(signal, std::ptr::null(), action.as_mut_ptr()), action.assume_init()) };
        // 0 is the default action, 1 ignores the signal.
        outcome == 0 && action.handler > 1 && action.flags & SA_RESTART == 0
    })
}

/// Returns an environment variable, which must not change later.
pub(crate) fn variable(name: &CStr) -> Option<&'static [u8]> {
    // SAFETY: name and value end with a zero byte. The variable is read before the program starts.
    unsafe {
        let value = getenv(name.as_ptr());
        (!value.is_null()).then(|| CStr::from_ptr(value).to_bytes())
    }
}

pub(crate) fn process() -> u32 {
    // SAFETY: the call cannot fail.
    unsafe { getpid() }.cast_unsigned()
}

/// Returns the descriptor of an open stream, or -1 if it has none.
pub(crate) fn descriptor_of(stream: *mut Stream) -> c_int {
    if stream.is_null() {
        return -1;
    }
    // SAFETY: the caller of the C library vouches for the stream.
    keeping_errno(|| unsafe { fileno(stream) })
}

/// Returns whether a write to an open stream has failed.
pub(crate) fn has_failed(stream: *mut Stream) -> bool {
    // SAFETY: the caller of the C library vouches for the stream.
    !stream.is_null() && unsafe { ferror(stream) } != 0
}

/// Returns whether a write to standard output or standard error has failed, if that stream writes to the file with this identity.
pub(crate) fn has_failed_standard(identity: (u64, u64)) -> bool {
    // SAFETY: these streams of the C library stay valid even after the program has closed them.
    let streams = unsafe { [stdout, stderr] };
    streams.into_iter().filter(|stream| !stream.is_null()).any(|stream| {
        has_failed(stream) && facts_of_open(descriptor_of(stream)).is_ok_and(|facts| facts.identity == identity)
    })
}

/// Flushes an open stream and returns whether that succeeded.
pub(crate) fn flush(stream: *mut Stream) -> bool {
    // SAFETY: the caller of the C library vouches for the stream.
    stream.is_null() || unsafe { fflush(stream) == 0 }
}

/// Flushes all streams and returns whether that succeeded.
pub(crate) fn flush_all() -> bool {
    // SAFETY: a null pointer stands for all streams.
    unsafe { fflush(std::ptr::null_mut()) == 0 }
}

/// Registers a function to call when the program ends by `exit` or the end of `main`.
pub(crate) fn at_exit(handler: extern "C" fn(c_int, *mut c_void)) {
    // SAFETY: the function stays valid.
    unsafe { on_exit(handler, std::ptr::null_mut()) };
}

/// Returns the flags of `renameat2`. With `is_exclusive`, the call fails if the name exists.
pub(crate) fn rename_flags(is_exclusive: bool) -> c_uint {
    if is_exclusive { RENAME_NOREPLACE } else { 0 }
}
