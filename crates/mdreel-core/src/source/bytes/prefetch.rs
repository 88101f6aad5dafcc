//! Prefetching: brings bytes of a map from memory into the processor's cache while it works on others. A processor does
//! that on its own for bytes that follow one another, but stops at the end of each page.

/// Asks for the cache line at `address`, wherever that is: nothing happens where nothing is.
#[inline(always)]
pub(crate) fn prefetch(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint, which reads nothing; SSE is part of x86-64.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
