//! Prefetching: brings bytes of a map from memory into the processor's cache while it works on others. A processor does
//! that on its own for bytes that follow one another, but stops at the end of each page.

/// Bytes of a cache line.
const LINE: usize = 64;

/// Asks for the cache line at `address`, wherever that is: nothing happens where nothing is.
#[inline(always)]
pub fn prefetch(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a hint, which reads nothing; SSE is part of x86-64.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// Bytes that will be wanted soon, asked for a few at a time: all at once would hold up the loads between.
#[derive(Debug, Default)]
pub struct Ahead<'a> {
    slices: Vec<&'a [u8]>,
    next: usize,
}

impl<'a> Ahead<'a> {
    /// The bytes of `slices`, in turn.
    pub fn new(slices: impl Iterator<Item = &'a [u8]>) -> Self {
        Ahead { slices: slices.collect(), next: 0 }
    }

    /// Asks for the next `n` cache lines.
    #[inline]
    pub fn step(&mut self, n: usize) {
        for _ in 0..n {
            let Some(slice) = self.slices.last() else { return };
            prefetch(slice.as_ptr().wrapping_add(self.next));
            self.next += LINE;
            if self.next >= slice.len() {
                self.next = 0;
                self.slices.pop();
            }
        }
    }
}
