//! System calls by number (`syscall`, `ioctl`).
//!
//! Functions of Rust cannot have optional arguments. On the supported processors, fixed arguments use the same registers, so the
//! replacements take all arguments and pass them on, whether the program has set them or not.

use std::ffi::{c_int, c_long, c_ulong};

use crate::c;
use crate::failures::{is_loss, lost, noting, unseen};
use crate::next::next;
use crate::parts;

/// Numbers of system calls.
#[cfg(target_arch = "x86_64")]
mod number {
    pub(super) const WRITE: i64 = 1;
    pub(super) const IOCTL: i64 = 16;
    pub(super) const PWRITE64: i64 = 18;
    pub(super) const WRITEV: i64 = 20;
    pub(super) const SENDFILE: i64 = 40;
    pub(super) const FSYNC: i64 = 74;
    pub(super) const FDATASYNC: i64 = 75;
    pub(super) const FTRUNCATE: i64 = 77;
    pub(super) const IO_SUBMIT: i64 = 209;
    pub(super) const SPLICE: i64 = 275;
    pub(super) const SYNC_FILE_RANGE: i64 = 277;
    pub(super) const FALLOCATE: i64 = 285;
    pub(super) const PWRITEV: i64 = 296;
    pub(super) const SYNCFS: i64 = 306;
    pub(super) const COPY_FILE_RANGE: i64 = 326;
    pub(super) const PWRITEV2: i64 = 328;
    pub(super) const IO_URING_ENTER: i64 = 426;
}

/// Numbers of system calls.
#[cfg(target_arch = "aarch64")]
mod number {
    pub const IO_SUBMIT: i64 = 2;
    pub const IOCTL: i64 = 29;
    pub const FTRUNCATE: i64 = 46;
    pub const FALLOCATE: i64 = 47;
    pub const WRITE: i64 = 64;
    pub const WRITEV: i64 = 66;
    pub const PWRITE64: i64 = 68;
    pub const PWRITEV: i64 = 70;
    pub const SENDFILE: i64 = 71;
    pub const SPLICE: i64 = 76;
    pub const FSYNC: i64 = 82;
    pub const FDATASYNC: i64 = 83;
    pub const SYNC_FILE_RANGE: i64 = 84;
    pub const SYNCFS: i64 = 267;
    pub const COPY_FILE_RANGE: i64 = 285;
    pub const PWRITEV2: i64 = 287;
    pub const IO_URING_ENTER: i64 = 426;
}

/// Requests that clone the content of another file (`FICLONE`, `FICLONERANGE`).
const CLONES: [c_ulong; 2] = [0x4004_9409, 0x4020_940d];

#[unsafe(no_mangle)]
unsafe extern "C" fn syscall(
    number: c_long,
    a: c_long,
    b: c_long,
    c: c_long,
    d: c_long,
    e: c_long,
    f: c_long,
) -> c_long {
    type Next = unsafe extern "C" fn(c_long, ...) -> c_long;
    let outcome = next!(c"syscall" as Next, (number, a, b, c, d, e, f), -1);
    if parts::any() {
        note(number, [a, b, c], outcome);
    }
    outcome
}

fn note(number: c_long, [a, b, c]: [c_long; 3], outcome: c_long) {
    let (first, third) = (a as c_int, c as c_int);
    match number {
        number::WRITE | number::PWRITE64 => {
            noting(first, outcome as isize, || usize::try_from(c).ok());
        }
        number::WRITEV
        | number::PWRITEV
        | number::PWRITEV2
        | number::SENDFILE
        | number::FSYNC
        | number::FDATASYNC
        | number::FTRUNCATE
        | number::FALLOCATE
        | number::SYNCFS
        | number::SYNC_FILE_RANGE => {
            noting(first, outcome as isize, || None);
        }
        number::SPLICE | number::COPY_FILE_RANGE => {
            noting(third, outcome as isize, || None);
        }
        number::IOCTL if CLONES.contains(&(b as c_ulong)) => {
            noting(first, outcome as isize, || None);
        }
        // The kernel reads these requests from memory that it shares with the program.
        number::IO_SUBMIT | number::IO_URING_ENTER if outcome > 0 => unseen(),
        _ => {}
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn ioctl(descriptor: c_int, request: c_ulong, argument: usize) -> c_int {
    type Next = unsafe extern "C" fn(c_int, c_ulong, ...) -> c_int;
    let outcome = next!(c"ioctl" as Next, (descriptor, request, argument), -1);
    if outcome < 0 && CLONES.contains(&request) && is_loss(c::errno()) {
        lost(descriptor);
    }
    outcome
}
