//! Large pages for large arrays. The first access to memory costs one fault per page. On request, the system uses pages
//! of 2 MiB instead of 4 KiB.

/// Size of a large page in bytes. Smaller arrays do not benefit from large pages.
#[cfg(any(target_os = "linux", target_os = "android"))]
const LARGE: usize = 2 << 20;

/// Requests large pages for the complete capacity of a vector. The system may refuse. The request affects only the run
/// time.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) fn ask_for<T>(vector: &mut Vec<T>) {
    const PAGE: usize = 4 << 10;
    let start: *mut u8 = vector.as_mut_ptr().cast();
    let n_bytes = vector.capacity() * size_of::<T>();
    if n_bytes < LARGE {
        return;
    }
    // The advice covers complete pages. The vector may share the first page with data of the allocator.
    let before = start.addr() % PAGE;
    // SAFETY: the advice changes no byte, neither of the vector nor of other data in the same pages.
    unsafe { libc::madvise(start.wrapping_sub(before).cast(), before + n_bytes, libc::MADV_HUGEPAGE) };
}

/// Does nothing, because other systems have no such request.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) fn ask_for<T>(_vector: &mut Vec<T>) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_array_keeps_what_it_holds() {
        for n in [0, 10, 100_000, 3_000_000] {
            let mut vector: Vec<u64> = (0..n).collect();
            vector.reserve(n as usize);
            ask_for(&mut vector);
            assert!((0..n).eq(vector.iter().copied()));
            vector.extend(0..n);
            assert_eq!(vector.len(), 2 * n as usize);
        }
    }
}
