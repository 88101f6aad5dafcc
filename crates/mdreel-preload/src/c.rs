//! What is needed of the C library besides what is stood in for. Declared here, as the library has no dependencies.

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
    /// Size, blocks, attributes, four times.
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
    // SAFETY: the address of this thread's own number.
    unsafe { *__errno_location() }
}

pub(crate) fn set_errno(number: c_int) {
    // SAFETY: the address of this thread's own number.
    unsafe { *__errno_location() = number }
}

/// Does something, and leaves the number of the last error as it was.
pub(crate) fn keeping_errno<T>(act: impl FnOnce() -> T) -> T {
    let before = errno();
    let outcome = act();
    set_errno(before);
    outcome
}

/// What is known of a file.
#[derive(Clone, Copy)]
pub(crate) struct Facts {
    /// Device and inode: the same file, whatever its name.
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
    // SAFETY: numbers, all of which were written: as zeros, and by the kernel.
    let found = unsafe { found.assume_init() };
    let device = u64::from(found.device[0]) << 32 | u64::from(found.device[1]);
    let identity = (device, found.inode);
    Ok(Facts { identity, mode: u32::from(found.mode), n_links: found.n_links, n_bytes: found.others[0] })
}

/// Of what a path leads to.
pub(crate) fn facts_at(directory: c_int, path: &CStr) -> Result<Facts, c_int> {
    facts(directory, path, 0)
}

/// Of what a path names, be it a link.
pub(crate) fn facts_of(path: &CStr) -> Result<Facts, c_int> {
    facts(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW)
}

/// Of an open file.
pub(crate) fn facts_of_open(descriptor: c_int) -> Result<Facts, c_int> {
    facts(descriptor, c"", AT_EMPTY_PATH)
}

/// Whether the program may write to a file.
pub(crate) fn may_write(path: &CStr) -> bool {
    type Next = unsafe extern "C" fn(c_int, *const c_char, c_int, c_int) -> c_int;
    next!(c"faccessat" as Next, (AT_FDCWD, path.as_ptr(), W_OK, AT_EACCESS), -1) == 0
}

/// Says that a writer has the file open, for as long as any copy of the descriptor is open, in whatever process.
pub(crate) fn lock_as_writer(descriptor: c_int) {
    // SAFETY: a call with numbers. Where there are no locks, there are none.
    unsafe { flock(descriptor, LOCK_SH | LOCK_NB) };
}

/// Whether no writer has the file open any more; then it is locked, so that only one is told so.
pub(crate) fn lock_as_last(descriptor: c_int) -> bool {
    // SAFETY: a call with numbers.
    let is_locked = unsafe { flock(descriptor, LOCK_EX | LOCK_NB) } == 0;
    is_locked || errno() != EWOULDBLOCK
}

pub(crate) fn unlock(descriptor: c_int) {
    // SAFETY: a call with numbers.
    unsafe { flock(descriptor, LOCK_UN) };
}

/// Whether somebody has a lock on a byte of an open file. Not, where there are no locks.
pub(crate) fn is_locked(descriptor: c_int, byte: u64) -> bool {
    let mut lock = Flock { kind: F_WRLCK, whence: 0, start: byte.cast_signed(), length: 1, process: 0 };
    // SAFETY: the kernel writes to the structure at most.
    unsafe { fcntl(descriptor, F_OFD_GETLK, &raw mut lock) == 0 && lock.kind != F_UNLCK }
}

pub(crate) fn set_mode(descriptor: c_int, mode: u32) -> bool {
    // SAFETY: a call with numbers.
    unsafe { fchmod(descriptor, mode & 0o7777) == 0 }
}

/// Reads from the start of an open file; how many bytes there were.
pub(crate) fn read_start(descriptor: c_int, into: &mut [u8]) -> usize {
    // SAFETY: the room is as large as is said.
    let n_bytes = unsafe { pread(descriptor, into.as_mut_ptr().cast(), into.len(), 0) };
    usize::try_from(n_bytes).unwrap_or(0)
}

/// Copies all that is in one open file to another one.
pub(crate) fn copy(from: c_int, to: c_int) -> Result<(), c_int> {
    type Next = unsafe extern "C" fn(c_int, c_int, *mut i64, usize) -> isize;
    loop {
        // The kernel keeps the place itself.
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

/// What a link leads to; how many bytes of the room it takes.
pub(crate) fn target_of(link: &CStr, into: &mut [u8]) -> usize {
    // SAFETY: the room is as large as is said.
    let n_bytes = unsafe { readlink(link.as_ptr(), into.as_mut_ptr().cast(), into.len()) };
    usize::try_from(n_bytes).unwrap_or(0)
}

/// Has the system tell of what comes into a directory; a descriptor, or -1.
pub(crate) fn notices_of(directory: &CStr) -> c_int {
    // SAFETY: the path ends with a zero.
    unsafe {
        let notices = inotify_init1(IN_CLOEXEC_NONBLOCK);
        inotify_add_watch(notices, directory.as_ptr(), IN_MOVED_TO_CREATE);
        notices
    }
}

/// Sleeps until there are notices, which are taken, or the time is over. Not, if a signal has come.
pub(crate) fn sleep(notices: c_int, milliseconds: c_int) -> bool {
    let mut of = Poll { descriptor: notices, wanted: POLLIN, seen: 0 };
    // SAFETY: one structure; a descriptor below 0 is left out.
    let n_ready = unsafe { poll(&raw mut of, 1, milliseconds) };
    if n_ready > 0 {
        let mut taken = [0_u8; 1024];
        // SAFETY: the room is as large as is said.
        while unsafe { read(notices, taken.as_mut_ptr().cast(), taken.len()) } > 0 {}
    }
    n_ready >= 0 || errno() != EINTR
}

/// Whether the program has a handler of a signal that is to interrupt what it waits for.
pub(crate) fn is_interruptible() -> bool {
    (1..32).any(|signal| {
        let mut action = std::mem::MaybeUninit::<Sigaction>::zeroed();
        // SAFETY: the structure is as large as the C library's, and numbers, all of which were written.
        let (outcome, action) =
            unsafe { (sigaction(signal, std::ptr::null(), action.as_mut_ptr()), action.assume_init()) };
        // 0 and 1 are what happens by itself, and nothing.
        outcome == 0 && action.handler > 1 && action.flags & SA_RESTART == 0
    })
}

/// A variable of the environment, which must not change meanwhile.
pub(crate) fn variable(name: &CStr) -> Option<&'static [u8]> {
    // SAFETY: the name ends with a zero, and so does the value. It is looked at before the program begins.
    unsafe {
        let value = getenv(name.as_ptr());
        (!value.is_null()).then(|| CStr::from_ptr(value).to_bytes())
    }
}

pub(crate) fn process() -> u32 {
    // SAFETY: it cannot fail.
    unsafe { getpid() }.cast_unsigned()
}

/// The descriptor of a stream, which must be open; -1 if it has none.
pub(crate) fn descriptor_of(stream: *mut Stream) -> c_int {
    if stream.is_null() {
        return -1;
    }
    // SAFETY: the caller of the C library vouches for the stream.
    keeping_errno(|| unsafe { fileno(stream) })
}

/// Whether something could not be written to a stream, which must be open.
pub(crate) fn has_failed(stream: *mut Stream) -> bool {
    // SAFETY: the caller of the C library vouches for the stream.
    !stream.is_null() && unsafe { ferror(stream) } != 0
}

/// Whether something could not be written to the standard output or to standard error, where that is the file of an identity.
pub(crate) fn has_failed_standard(identity: (u64, u64)) -> bool {
    // SAFETY: the C library's own, which stay, also where the program has closed them.
    let streams = unsafe { [stdout, stderr] };
    streams.into_iter().filter(|stream| !stream.is_null()).any(|stream| {
        has_failed(stream) && facts_of_open(descriptor_of(stream)).is_ok_and(|facts| facts.identity == identity)
    })
}

/// Writes what a stream has, which must be open; whether that succeeded.
pub(crate) fn flush(stream: *mut Stream) -> bool {
    // SAFETY: the caller of the C library vouches for the stream.
    stream.is_null() || unsafe { fflush(stream) == 0 }
}

/// Writes what all streams have; whether that succeeded.
pub(crate) fn flush_all() -> bool {
    // SAFETY: no stream means all.
    unsafe { fflush(std::ptr::null_mut()) == 0 }
}

/// Has a function called when the program ends by `exit`, or by the end of `main`.
pub(crate) fn at_exit(handler: extern "C" fn(c_int, *mut c_void)) {
    // SAFETY: the function stays.
    unsafe { on_exit(handler, std::ptr::null_mut()) };
}

/// Flags that have a rename fail where the name is taken.
pub(crate) fn rename_flags(is_exclusive: bool) -> c_uint {
    if is_exclusive { RENAME_NOREPLACE } else { 0 }
}
