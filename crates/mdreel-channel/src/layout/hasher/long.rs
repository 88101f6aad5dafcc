//! XXH3 (64 bits, seed 0) of more than 240 bytes, with vectors. The names and numbers are those of its specification
//! (`doc/xxhash_spec.md` of xxHash).

use mdreel_core::simd::Level;

use super::{avx2, avx512};

/// Bytes that a step takes.
pub(super) const STRIPE: usize = 64;
/// Steps between two scramblings.
pub(super) const STRIPES: usize = 16;
pub(super) const PRIME32: [u64; 3] = [0x9E37_79B1, 0x85EB_CA77, 0xC2B2_AE3D];
const PRIME64: [u64; 5] =
    [0x9E37_79B1_85EB_CA87, 0xC2B2_AE3D_27D4_EB4F, 0x1656_67B1_9E37_79F9, 0x85EB_CA77_C2B2_AE63, 0x27D4_EB2F_1656_67C5];
/// The multiplier of the final mixing.
const AVALANCHE: u64 = 0x1656_6791_9E37_79F9;
/// The default secret; little endian.
pub(super) const SECRET: [u64; 24] = [
    0xBE4B_A423_396C_FEB8,
    0x1CAD_21F7_2C81_017C,
    0xDB97_9083_E96D_D4DE,
    0x1F67_B3B7_A4A4_4072,
    0x78E5_C0CC_4EE6_79CB,
    0x2172_FFCC_7DD0_5A82,
    0x8E24_43F7_7446_08B8,
    0x4C26_3A81_E690_35E0,
    0xCB00_C391_BB52_283C,
    0xA32E_531B_8B65_D088,
    0x4EF9_0DA2_9748_6471,
    0xD8AC_DEA9_46EF_1938,
    0x3F34_9CE3_3F76_FAA8,
    0x1D4F_0BC7_C7BB_DCF9,
    0x3159_B4CD_4BE0_518A,
    0x6473_78D9_C97E_9FC8,
    0xC3EB_D334_83AC_C5EA,
    0xEB63_13FA_FFA0_81C5,
    0x49DA_F0B7_51DD_0D17,
    0x9E68_D429_2655_16D3,
    0xFCA1_477D_58BE_162B,
    0xCE31_D07A_D1B8_F88F,
    0x2804_1695_8F3A_CB45,
    0x7E40_4BBB_CAFB_D7AF,
];
/// Where in the secret, in bytes, that of the scrambling begins, that of the last stripe, and that of the final mixing.
pub(super) const SCRAMBLE: usize = 128;
const LAST: usize = 121;
const MIX: usize = 11;

/// With which instructions stripes are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kernel {
    Avx2,
    Avx512,
}

/// The checksum of bytes that come in pieces, of which there are more than 240 in the end.
pub(super) struct Long {
    kernel: Kernel,
    lanes: [u64; 8],
    /// Stripes since the last scrambling.
    n_stripes: usize,
    n_bytes: u64,
    /// The last stripe that was taken, and behind it the bytes that wait: the very last stripe is taken differently.
    recent: [u8; 2 * STRIPE],
    n_waiting: usize,
}

impl Long {
    /// One for this processor; `None` if it has no vectors that are wide enough.
    pub(super) fn of_this_processor() -> Option<Self> {
        let kernel = if Level::detect().is_avx512() {
            Kernel::Avx512
        } else if std::is_x86_feature_detected!("avx2") {
            Kernel::Avx2
        } else {
            return None;
        };
        Some(Self::new(kernel))
    }

    fn new(kernel: Kernel) -> Self {
        let [one, two, three, four, five] = PRIME64;
        let lanes = [PRIME32[2], one, two, three, four, PRIME32[1], five, PRIME32[0]];
        Long { kernel, lanes, n_stripes: 0, n_bytes: 0, recent: [0; 2 * STRIPE], n_waiting: 0 }
    }

    /// Adds the bytes that come next.
    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.pass::<false>(bytes, &mut []);
    }

    /// Adds the bytes that come next, and copies them to `to`, which is as long, as they pass through the registers.
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
        // At least one byte waits.
        let n = bytes.len().saturating_sub(1) / STRIPE;
        self.take::<COPY>(&bytes.as_chunks::<STRIPE>().0[..n], to);
        let (bytes, to) = (&bytes[n * STRIPE..], if COPY { &mut to[n * STRIPE..] } else { to });
        self.wait_for_more::<COPY>(bytes.len(), bytes, to);
    }

    /// Has the first `n` bytes wait; returns those behind them.
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

    /// Takes stripes behind which there is more.
    fn take<const COPY: bool>(&mut self, stripes: &[[u8; STRIPE]], to: &mut [u8]) {
        let Some(last) = stripes.last() else { return };
        self.recent[..STRIPE].copy_from_slice(last);
        let (to, _) = to.as_chunks_mut::<STRIPE>();
        let to = if COPY { &mut to[..stripes.len()] } else { &mut [] };
        let Long { kernel, lanes, n_stripes, .. } = self;
        // SAFETY: the processor was asked for what the kernel needs.
        unsafe {
            match kernel {
                Kernel::Avx2 => avx2::take::<COPY>(lanes, n_stripes, stripes, to),
                Kernel::Avx512 => avx512::take::<COPY>(lanes, n_stripes, stripes, to),
            }
        }
    }

    /// The checksum of all that was added.
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

/// A word of the secret, from a byte on.
fn secret(from: usize) -> u64 {
    let (word, bits) = (from / 8, 8 * (from % 8) as u32);
    if bits == 0 { SECRET[word] } else { SECRET[word] >> bits | SECRET[word + 1] << (64 - bits) }
}

/// Writes the function that takes stripes, over the operations of a kernel.
macro_rules! take_stripes {
    ($feature:literal, $vector:ty) => {
        /// Adds stripes to the lanes, and copies them if `COPY`. `n_stripes` have been added since the last scrambling.
        #[target_feature(enable = $feature)]
        pub(super) fn take<const COPY: bool>(
            kept: &mut [u64; 8],
            n_stripes: &mut usize,
            stripes: &[[u8; STRIPE]],
            to: &mut [[u8; STRIPE]],
        ) {
            let mut lanes = load(kept);
            let n_first = stripes.len().min((STRIPES - *n_stripes) % STRIPES);
            let (first, rest) = stripes.split_at(n_first);
            let (to_first, to_rest) = to.split_at_mut(if COPY { n_first } else { 0 });
            lanes = step::<COPY>(lanes, n_stripes, first, to_first);
            if *n_stripes == STRIPES {
                lanes = scramble(lanes);
                *n_stripes = 0;
            }
            let (blocks, rest) = rest.as_chunks::<STRIPES>();
            let (to_blocks, to_rest) = to_rest.as_chunks_mut::<STRIPES>();
            for (number, block) in blocks.iter().enumerate() {
                for (n, stripe) in block.iter().enumerate() {
                    let data = load_bytes(stripe);
                    lanes = accumulate(lanes, data, 8 * n);
                    if COPY {
                        store(&mut to_blocks[number][n], data);
                    }
                }
                lanes = scramble(lanes);
            }
            lanes = step::<COPY>(lanes, n_stripes, rest, to_rest);
            keep(kept, lanes);
        }

        /// Takes stripes of which none but the last ends a block.
        #[inline]
        #[target_feature(enable = $feature)]
        fn step<const COPY: bool>(
            mut lanes: $vector,
            n_stripes: &mut usize,
            stripes: &[[u8; STRIPE]],
            to: &mut [[u8; STRIPE]],
        ) -> $vector {
            for (n, stripe) in stripes.iter().enumerate() {
                let data = load_bytes(stripe);
                lanes = accumulate(lanes, data, 8 * *n_stripes);
                *n_stripes += 1;
                if COPY {
                    store(&mut to[n], data);
                }
            }
            lanes
        }
    };
}
pub(super) use take_stripes;
