//! XXH3 (64 bits, seed 0) of more than 240 bytes, with vector instructions.

use mdreel_core::simd::Level;

use super::specification::{AVALANCHE, COPIED, LAST, MIX, NONE, PRIME32, PRIME64, SECRET, STREAMED, STRIPE};
use super::{avx2, avx512};

/// Inputs of at least this length are copied with stores that bypass the caches. They do not fit into the caches of a core, and other
/// stores would read the old bytes of each cache line first.
const STREAMED_FROM: usize = 4 << 20;

/// The instructions with which stripes are added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kernel {
    Avx2,
    Avx512,
}

/// The checksum of bytes that arrive in pieces and number more than 240 in total.
pub(super) struct Long {
    kernel: Kernel,
    /// Whether copies bypass the caches.
    is_streamed: bool,
    lanes: [u64; 8],
    /// The number of stripes since the last scrambling.
    n_stripes: usize,
    n_bytes: u64,
    /// The last stripe that was added, followed by the waiting bytes. Bytes wait because the very last stripe is added
    /// differently.
    recent: [u8; 2 * STRIPE],
    n_waiting: usize,
}

impl Long {
    /// Creates the checksum of an input of this length for this processor. Returns `None` if its vectors are too short.
    pub(super) fn of_this_processor(length: usize) -> Option<Self> {
        let kernel = if Level::detect().is_avx512() {
            Kernel::Avx512
        } else if std::is_x86_feature_detected!("avx2") {
            Kernel::Avx2
        } else {
            return None;
        };
        Some(Self::new(kernel, length >= STREAMED_FROM))
    }

    fn new(kernel: Kernel, is_streamed: bool) -> Self {
        let [one, two, three, four, five] = PRIME64;
        let lanes = [PRIME32[2], one, two, three, four, PRIME32[1], five, PRIME32[0]];
        Long { kernel, is_streamed, lanes, n_stripes: 0, n_bytes: 0, recent: [0; 2 * STRIPE], n_waiting: 0 }
    }

    /// Adds the next bytes.
    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.pass::<false>(bytes, &mut []);
    }

    /// Adds the next bytes and copies them to `to`, which has the same length, as they pass through the registers.
    pub(super) fn copy(&mut self, bytes: &[u8], to: &mut [u8]) {
        assert_eq!(bytes.len(), to.len(), "as long");
        self.pass::<true>(bytes, to);
    }

    fn pass<'a, const COPY: bool>(&mut self, mut bytes: &'a [u8], mut to: &'a mut [u8]) {
        self.n_bytes += bytes.len() as u64;
        if self.n_waiting > 0 {
            let n = bytes.len().min(STRIPE - self.n_waiting);
            (bytes, to) = self.wait_for_more::<COPY>(n, bytes, to);
            if bytes.is_empty() {
                return;
            }
            let waiting = *self.recent.last_chunk::<STRIPE>().expect("two stripes");
            self.take::<false>(&[waiting], &mut []);
            self.n_waiting = 0;
        }
        // At least one byte keeps waiting.
        let n = bytes.len().saturating_sub(1) / STRIPE;
        self.take::<COPY>(&bytes.as_chunks::<STRIPE>().0[..n], to);
        let (bytes, to) = (&bytes[n * STRIPE..], if COPY { &mut to[n * STRIPE..] } else { to });
        self.wait_for_more::<COPY>(bytes.len(), bytes, to);
    }

    /// Keeps the first `n` bytes until a stripe is complete, and returns the bytes after them.
    fn wait_for_more<'a, const COPY: bool>(
        &mut self,
        n: usize,
        bytes: &'a [u8],
        to: &'a mut [u8],
    ) -> (&'a [u8], &'a mut [u8]) {
        let (now, later) = bytes.split_at(n);
        let start = STRIPE + self.n_waiting;
        self.recent[start..start + n].copy_from_slice(now);
        self.n_waiting += n;
        let (there, to) = to.split_at_mut(if COPY { n } else { 0 });
        if COPY {
            there.copy_from_slice(now);
        }
        (later, to)
    }

    /// Adds stripes that are followed by more bytes.
    fn take<const COPY: bool>(&mut self, stripes: &[[u8; STRIPE]], to: &mut [u8]) {
        let Some(last) = stripes.last() else { return };
        self.recent[..STRIPE].copy_from_slice(last);
        let (to, _) = to.as_chunks_mut::<STRIPE>();
        let to = if COPY { &mut to[..stripes.len()] } else { &mut [] };
        let Long { kernel, is_streamed, lanes, n_stripes, .. } = self;
        let is_streamed = *is_streamed && to.as_ptr().addr().is_multiple_of(STRIPE);
        // SAFETY: `of_this_processor` has checked that the processor has the instructions of the kernel. Streamed copies are aligned.
        unsafe {
            match (kernel, COPY, is_streamed) {
                (Kernel::Avx2, false, _) => avx2::take::<NONE>(lanes, n_stripes, stripes, to),
                (Kernel::Avx2, true, false) => avx2::take::<COPIED>(lanes, n_stripes, stripes, to),
                (Kernel::Avx2, true, true) => avx2::take::<STREAMED>(lanes, n_stripes, stripes, to),
                (Kernel::Avx512, false, _) => avx512::take::<NONE>(lanes, n_stripes, stripes, to),
                (Kernel::Avx512, true, false) => avx512::take::<COPIED>(lanes, n_stripes, stripes, to),
                (Kernel::Avx512, true, true) => avx512::take::<STREAMED>(lanes, n_stripes, stripes, to),
            }
        }
    }

    /// Returns the checksum of all bytes that were added.
    pub(super) fn value(&self) -> u64 {
        let last = self.recent[self.n_waiting..].first_chunk::<STRIPE>().expect("a stripe or less waits");
        let mut lanes = self.lanes;
        for (lane, word) in last.as_chunks::<8>().0.iter().enumerate() {
            let word = u64::from_le_bytes(*word);
            let keyed = word ^ secret(LAST + 8 * lane);
            lanes[lane ^ 1] = lanes[lane ^ 1].wrapping_add(word);
            lanes[lane] = lanes[lane].wrapping_add((keyed & u64::from(u32::MAX)).wrapping_mul(keyed >> 32));
        }
        let mut sum = self.n_bytes.wrapping_mul(PRIME64[0]);
        for (n, two) in lanes.as_chunks::<2>().0.iter().enumerate() {
            let at = MIX + 16 * n;
            let product = u128::from(two[0] ^ secret(at)) * u128::from(two[1] ^ secret(at + 8));
            sum = sum.wrapping_add(product as u64 ^ (product >> 64) as u64);
        }
        sum ^= sum >> 37;
        sum = sum.wrapping_mul(AVALANCHE);
        sum ^ (sum >> 32)
    }
}

/// Returns a word of the secret from byte `from` on.
fn secret(from: usize) -> u64 {
    let (word, bits) = (from / 8, 8 * (from % 8) as u32);
    if bits == 0 { SECRET[word] } else { SECRET[word] >> bits | SECRET[word + 1] << (64 - bits) }
}
