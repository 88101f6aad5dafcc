//! XXH3 (64 bits, seed 0) of more than 240 bytes, with AVX-512. The names and numbers are those of its specification
//! (`doc/xxhash_spec.md` of xxHash).

use std::arch::x86_64::*;

/// Bytes that a step takes.
const STRIPE: usize = 64;
/// Steps between two scramblings.
const STRIPES: usize = 16;
const PRIME32: [u64; 3] = [0x9E37_79B1, 0x85EB_CA77, 0xC2B2_AE3D];
const PRIME64: [u64; 5] =
    [0x9E37_79B1_85EB_CA87, 0xC2B2_AE3D_27D4_EB4F, 0x1656_67B1_9E37_79F9, 0x85EB_CA77_C2B2_AE63, 0x27D4_EB2F_1656_67C5];
/// The multiplier of the final mixing.
const AVALANCHE: u64 = 0x1656_6791_9E37_79F9;
/// The default secret; little endian.
const SECRET: [u64; 24] = [
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
const SCRAMBLE: usize = 128;
const LAST: usize = 121;
const MIX: usize = 11;

/// The checksum of bytes that come in pieces, of which there are more than 240 in the end.
pub(super) struct Long {
    lanes: [u64; 8],
    /// Stripes since the last scrambling.
    n_stripes: usize,
    n_bytes: u64,
    /// The last stripe that was taken, and behind it the bytes that wait: the very last stripe is taken differently.
    recent: [u8; 2 * STRIPE],
    n_waiting: usize,
}

impl Long {
    pub(super) fn new() -> Self {
        let [one, two, three, four, five] = PRIME64;
        let lanes = [PRIME32[2], one, two, three, four, PRIME32[1], five, PRIME32[0]];
        Long { lanes, n_stripes: 0, n_bytes: 0, recent: [0; 2 * STRIPE], n_waiting: 0 }
    }

    /// Adds the bytes that come next.
    ///
    /// # Safety
    /// The processor must have AVX-512 F.
    #[target_feature(enable = "avx512f")]
    pub(super) unsafe fn add(&mut self, bytes: &[u8]) {
        self.pass::<false>(bytes, &mut []);
    }

    /// Adds the bytes that come next, and copies them to `to`, which is as long, as they pass through the registers.
    ///
    /// # Safety
    /// As of [`Self::add`].
    #[target_feature(enable = "avx512f")]
    pub(super) unsafe fn copy(&mut self, bytes: &[u8], to: &mut [u8]) {
        assert_eq!(bytes.len(), to.len(), "as long");
        self.pass::<true>(bytes, to);
    }

    #[target_feature(enable = "avx512f")]
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
    #[target_feature(enable = "avx512f")]
    fn take<const COPY: bool>(&mut self, stripes: &[[u8; STRIPE]], to: &mut [u8]) {
        let Some(last) = stripes.last() else { return };
        self.recent[..STRIPE].copy_from_slice(last);
        let (to, _) = to.as_chunks_mut::<STRIPE>();
        let to = if COPY { &mut to[..stripes.len()] } else { &mut [] };
        let mut lanes = load(&self.lanes);
        let n_first = stripes.len().min((STRIPES - self.n_stripes) % STRIPES);
        let (first, rest) = stripes.split_at(n_first);
        let (to_first, to_rest) = to.split_at_mut(if COPY { n_first } else { 0 });
        lanes = self.step::<COPY>(lanes, first, to_first);
        if self.n_stripes == STRIPES {
            lanes = scramble(lanes);
            self.n_stripes = 0;
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
        lanes = self.step::<COPY>(lanes, rest, to_rest);
        // SAFETY: there are 64 bytes.
        unsafe { _mm512_storeu_si512(self.lanes.as_mut_ptr().cast(), lanes) };
    }

    /// Takes stripes of which none but the last ends a block.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn step<const COPY: bool>(
        &mut self,
        mut lanes: __m512i,
        stripes: &[[u8; STRIPE]],
        to: &mut [[u8; STRIPE]],
    ) -> __m512i {
        for (n, stripe) in stripes.iter().enumerate() {
            let data = load_bytes(stripe);
            lanes = accumulate(lanes, data, 8 * self.n_stripes);
            self.n_stripes += 1;
            if COPY {
                store(&mut to[n], data);
            }
        }
        lanes
    }

    /// The checksum of all that was added.
    ///
    /// # Safety
    /// As of [`Self::add`].
    #[target_feature(enable = "avx512f")]
    pub(super) unsafe fn value(&self) -> u64 {
        let last = self.recent[self.n_waiting..].first_chunk::<STRIPE>().expect("a stripe or less waits");
        let mut lanes = [0_u64; 8];
        let all = accumulate(load(&self.lanes), load_bytes(last), LAST);
        // SAFETY: there are 64 bytes.
        unsafe { _mm512_storeu_si512(lanes.as_mut_ptr().cast(), all) };
        let mut keys = [0_u64; 8];
        // SAFETY: there are 64 bytes.
        unsafe { _mm512_storeu_si512(keys.as_mut_ptr().cast(), secret(MIX)) };
        let mut sum = self.n_bytes.wrapping_mul(PRIME64[0]);
        for (two, key) in lanes.as_chunks::<2>().0.iter().zip(keys.as_chunks::<2>().0) {
            let product = u128::from(two[0] ^ key[0]) * u128::from(two[1] ^ key[1]);
            sum = sum.wrapping_add(product as u64 ^ (product >> 64) as u64);
        }
        sum ^= sum >> 37;
        sum = sum.wrapping_mul(AVALANCHE);
        sum ^ (sum >> 32)
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load(lanes: &[u64; 8]) -> __m512i {
    // SAFETY: there are 64 bytes.
    unsafe { _mm512_loadu_si512(lanes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load_bytes(stripe: &[u8; STRIPE]) -> __m512i {
    // SAFETY: there are 64 bytes.
    unsafe { _mm512_loadu_si512(stripe.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn store(stripe: &mut [u8; STRIPE], data: __m512i) {
    // SAFETY: there are 64 bytes.
    unsafe { _mm512_storeu_si512(stripe.as_mut_ptr().cast(), data) };
}

/// Eight words of the secret, from a byte on.
#[inline]
#[target_feature(enable = "avx512f")]
fn secret(from: usize) -> __m512i {
    assert!(from + STRIPE <= size_of_val(&SECRET));
    // SAFETY: these bytes are within the secret.
    unsafe { _mm512_loadu_si512(SECRET.as_ptr().cast::<u8>().add(from).cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn accumulate(lanes: __m512i, data: __m512i, from: usize) -> __m512i {
    let keyed = _mm512_xor_si512(data, secret(from));
    let product = _mm512_mul_epu32(keyed, _mm512_srli_epi64::<32>(keyed));
    let neighbours = _mm512_shuffle_epi32::<0b01_00_11_10>(data);
    _mm512_add_epi64(lanes, _mm512_add_epi64(product, neighbours))
}

#[inline]
#[target_feature(enable = "avx512f")]
fn scramble(lanes: __m512i) -> __m512i {
    let mixed = _mm512_xor_si512(_mm512_xor_si512(lanes, _mm512_srli_epi64::<47>(lanes)), secret(SCRAMBLE));
    let prime = _mm512_set1_epi64(PRIME32[0] as i64);
    let low = _mm512_mul_epu32(mixed, prime);
    let high = _mm512_mul_epu32(_mm512_srli_epi64::<32>(mixed), prime);
    _mm512_add_epi64(low, _mm512_slli_epi64::<32>(high))
}
