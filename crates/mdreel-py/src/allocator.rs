//! The allocator of this process.

use pyo3::prelude::*;

/// So much of what was freed is kept, bytes.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const KEPT: i32 = 64 << 20;
/// What is larger is asked of the system, and given back to it, bytes.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const LARGE: i32 = 16 << 20;

/// Have the allocator keep what is freed, up to 64 MiB of each of its heaps, for a process that does nothing but pass
/// on pieces of about a megabyte: to get each of them from the system, and have its pages cleared, takes as long as
/// to copy it twice. For processes of ours, as it holds for all that is in them. Does nothing where libc is not GNU's.
#[pyfunction]
pub(crate) fn keep_freed_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: two settings, which the allocator takes or leaves.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE);
        libc::mallopt(libc::M_TRIM_THRESHOLD, KEPT);
    }
}

/// What is larger is asked of the system by a process that gives back what it frees, bytes.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const NOT_SMALL: i32 = 128 << 10;

/// Have the allocator use one heap for all threads, and give back what is freed, for a process with many threads that
/// is to be small and has little to do. Does nothing where libc is not GNU's.
#[pyfunction]
pub(crate) fn return_freed_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: three settings, which the allocator takes or leaves.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
        libc::mallopt(libc::M_MMAP_THRESHOLD, NOT_SMALL);
        libc::mallopt(libc::M_TRIM_THRESHOLD, 2 * NOT_SMALL);
    }
}
