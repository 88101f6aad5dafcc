//! The allocator of this process.

use pyo3::prelude::*;

/// The number of freed bytes that the allocator keeps.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const KEPT: i32 = 64 << 20;
/// The size in bytes above which the allocator maps memory from the system, and returns it there when it is freed.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const LARGE: i32 = 16 << 20;

/// Have the allocator keep what is freed, up to 64 MiB of each of its heaps, for a process that does nothing but pass
/// on pieces of about a megabyte: to get each of them from the system, and have its pages cleared, takes as long as
/// to copy it twice. Use it only in processes of mdreel, as it affects all code in them. Does nothing where libc is not GNU's.
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

/// Have the allocator use one heap for all threads, and give back what is freed, for a process with many threads that
/// is to be small and has little to do. Does nothing where libc is not GNU's.
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
