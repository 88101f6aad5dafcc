//! Prefetching of mapped bytes into the processor cache, while the processor works on other bytes. A processor
//! prefetches consecutive bytes on its own, but stops at the end of each page.

/// Prefetches the cache line at `address`. The address may be invalid; the prefetch then has no effect.
#[inline(always)]
pub(crate) fn prefetch(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the hint reads nothing, and SSE is part of x86-64.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
