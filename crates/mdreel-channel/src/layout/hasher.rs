//! Checksums of bytes that come in pieces: XXH3 (64 bits).
//!
//! A library's; its vectors end at AVX2. With AVX-512 a checksum takes half the time, which is a fifth of what publishing a frame
//! takes (`docs/design/012-channel.md`): long stretches have an implementation of ours there.

use twox_hash::XxHash3_64;

#[cfg(target_arch = "x86_64")]
mod avx512;

/// So much is copied and added to the library's checksum at a time: it stays in the core's second cache between the two, and processors
/// copy long stretches faster than short ones.
const PIECE: usize = 256 << 10;

/// More bytes than this are a long input, as the specification of XXH3 has it.
#[cfg(target_arch = "x86_64")]
const SHORT: usize = 240;

/// The checksum of bytes that come in pieces.
pub(super) struct Hasher(Kind);

enum Kind {
    Library(XxHash3_64),
    #[cfg(target_arch = "x86_64")]
    Wide(avx512::Long),
}

impl Hasher {
    /// Of `length` bytes in all.
    pub(super) fn of(length: usize) -> Self {
        #[cfg(target_arch = "x86_64")]
        if length > SHORT && mdreel_core::simd::Level::detect().is_avx512() {
            return Hasher(Kind::Wide(avx512::Long::new()));
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = length;
        Hasher(Kind::Library(XxHash3_64::with_seed(0)))
    }

    /// Adds the bytes that come next.
    pub(super) fn add(&mut self, bytes: &[u8]) {
        match &mut self.0 {
            Kind::Library(library) => std::hash::Hasher::write(library, bytes),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: there is one only where the processor has what it needs.
            Kind::Wide(long) => unsafe { long.add(bytes) },
        }
    }

    /// Adds the bytes that come next, and copies them to `to`, which is as long: both in one pass.
    pub(super) fn copy(&mut self, bytes: &[u8], to: &mut [u8]) {
        match &mut self.0 {
            Kind::Library(library) => {
                for (bytes, to) in bytes.chunks(PIECE).zip(to.chunks_mut(PIECE)) {
                    to.copy_from_slice(bytes);
                    std::hash::Hasher::write(library, bytes);
                }
            }
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Kind::Wide(long) => unsafe { long.copy(bytes, to) },
        }
    }

    /// The checksum, when all bytes have been added.
    pub(super) fn value(&self) -> u64 {
        match &self.0 {
            Kind::Library(library) => std::hash::Hasher::finish(library),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: as above.
            Kind::Wide(long) => unsafe { long.value() },
        }
    }
}

/// The checksum of `bytes`.
pub fn checksum(bytes: &[u8]) -> u64 {
    let mut sum = Hasher::of(bytes.len());
    sum.add(bytes);
    sum.value()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bytes(n: usize) -> Vec<u8> {
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 56) as u8
        };
        (0..n).map(|_| next()).collect()
    }

    #[test]
    fn checksum_is_that_of_the_library_at_every_length() {
        let all = bytes(5000);
        for n in 0..all.len() {
            assert_eq!(checksum(&all[..n]), XxHash3_64::oneshot(&all[..n]), "{n} bytes");
        }
        let all = bytes(3_000_001);
        assert_eq!(checksum(&all), XxHash3_64::oneshot(&all));
    }

    proptest! {
        #[test]
        fn checksum_does_not_depend_on_the_pieces(n in 0usize..20_000, cuts in prop::collection::vec(0usize..20_000, 0..12)) {
            let all = bytes(n);
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(n)).collect();
            cuts.sort_unstable();
            let mut sum = Hasher::of(n);
            let (mut copied, mut target) = (Hasher::of(n), vec![0; n]);
            let mut at = 0;
            for cut in cuts.into_iter().chain([n]) {
                sum.add(&all[at..cut]);
                copied.copy(&all[at..cut], &mut target[at..cut]);
                at = cut;
            }
            let expected = XxHash3_64::oneshot(&all);
            prop_assert_eq!((sum.value(), copied.value()), (expected, expected));
            prop_assert!(target == all);
        }
    }
}
