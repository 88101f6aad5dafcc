//! Checksums of bytes that arrive in pieces: XXH3 (64 bits).
//!
//! A library computes the checksum of short inputs, and of all inputs on processors without AVX2. Otherwise, our own
//! implementation (`long`) computes the checksum of long inputs, and copies them in the same pass through the registers
//! (`docs/design/012-channel.md`).

use twox_hash::XxHash3_64;

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
mod long;
#[cfg(target_arch = "x86_64")]
mod specification;

/// The number of bytes that are copied and then added to the library's checksum at a time. They stay in the second-level cache of
/// the core between the two steps, and processors copy long stretches faster than short ones.
const PIECE: usize = 256 << 10;

/// The longest input, in bytes, that is short according to the specification of XXH3.
#[cfg(target_arch = "x86_64")]
const SHORT: usize = 240;

/// The checksum of bytes that arrive in pieces.
pub(super) struct Hasher(Kind);

enum Kind {
    Library(XxHash3_64),
    #[cfg(target_arch = "x86_64")]
    Wide(long::Long),
}

impl Hasher {
    /// Creates the checksum for an input of `length` bytes in total.
    pub(super) fn of(length: usize) -> Self {
        #[cfg(target_arch = "x86_64")]
        if let Some(long) = (length > SHORT).then(|| long::Long::of_this_processor(length)).flatten() {
            return Hasher(Kind::Wide(long));
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = length;
        Hasher(Kind::Library(XxHash3_64::with_seed(0)))
    }

    /// Adds the next bytes.
    pub(super) fn add(&mut self, bytes: &[u8]) {
        match &mut self.0 {
            Kind::Library(library) => std::hash::Hasher::write(library, bytes),
            #[cfg(target_arch = "x86_64")]
            Kind::Wide(long) => long.add(bytes),
        }
    }

    /// Adds the next bytes and copies them to `to`, which has the same length, in one pass.
    pub(super) fn copy(&mut self, bytes: &[u8], to: &mut [u8]) {
        match &mut self.0 {
            Kind::Library(library) => {
                for (bytes, to) in bytes.chunks(PIECE).zip(to.chunks_mut(PIECE)) {
                    to.copy_from_slice(bytes);
                    std::hash::Hasher::write(library, bytes);
                }
            }
            #[cfg(target_arch = "x86_64")]
            Kind::Wide(long) => long.copy(bytes, to),
        }
    }

    /// Returns the checksum, after all bytes have been added.
    pub(super) fn value(&self) -> u64 {
        match &self.0 {
            Kind::Library(library) => std::hash::Hasher::finish(library),
            #[cfg(target_arch = "x86_64")]
            Kind::Wide(long) => long.value(),
        }
    }
}

/// Returns the checksum of `bytes`.
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

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no streamed stores")]
    fn long_input_is_copied_to_any_address() {
        let all = bytes(5_000_003);
        let expected = XxHash3_64::oneshot(&all);
        let mut target = vec![0u8; all.len() + 256];
        let aligned = target.as_ptr().align_offset(64);
        for offset in [0, 1, 32] {
            for piece in [all.len(), 1_000_000, 64_000] {
                let to = &mut target[aligned + offset..][..all.len()];
                to.fill(0);
                let mut sum = Hasher::of(all.len());
                all.chunks(piece).zip(to.chunks_mut(piece)).for_each(|(from, to)| sum.copy(from, to));
                assert_eq!(sum.value(), expected);
                assert!(*to == all, "offset {offset}, pieces of {piece} bytes");
            }
        }
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
