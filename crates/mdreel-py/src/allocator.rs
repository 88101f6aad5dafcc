//! The allocator of this process.

use pyo3::prelude::*;

/// The number of freed bytes that the allocator keeps.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const KEPT: i32 = 64 << 20;
/// The size in bytes above which the allocator maps memory from the system, and returns it there when it is freed.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const LARGE: i32 = 16 << 20;

/// Make the allocator keep freed memory, up to 64 MiB in each of its heaps.
///
/// This is for a process that only passes on pieces of about a megabyte. If the allocator gets each piece from the system, the
/// system clears its pages, which takes as long as copying the piece twice. The setting affects all code in the process, so use
/// it only in processes of mdreel. The function does nothing if the C library is not glibc.
#[pyfunction]
pub(crate) fn keep_freed_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: these are two settings, which the allocator accepts or ignores.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE);
        libc::mallopt(libc::M_TRIM_THRESHOLD, KEPT);
    }
}

/// The size in bytes above which a process that returns freed memory maps memory from the system.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const NOT_SMALL: i32 = 128 << 10;

/// Make the allocator use one heap for all threads and return freed memory to the system.
///
/// This is for a process with many threads that needs little memory and does little work. The function does nothing if the C
/// library is not glibc.
#[pyfunction]
pub(crate) fn return_freed_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: these are three settings, which the allocator accepts or ignores.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
        libc::mallopt(libc::M_MMAP_THRESHOLD, NOT_SMALL);
        libc::mallopt(libc::M_TRIM_THRESHOLD, 2 * NOT_SMALL);
    }
}
