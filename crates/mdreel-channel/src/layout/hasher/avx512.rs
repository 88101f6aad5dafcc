//! XXH3 with AVX-512. One register holds all lanes.

use std::arch::x86_64::*;

use super::specification::{
    COPIED, NONE, PRIME32, SCRAMBLE, SECRET, SOURCE_AHEAD, STREAMED, STRIPE, STRIPES, TARGET_AHEAD, take_stripes,
};

take_stripes!("avx512f", __m512i);

#[inline]
#[target_feature(enable = "avx512f")]
fn keep(lanes: &mut [u64; 8], values: __m512i) {
    // SAFETY: the array has 64 bytes.
    unsafe { _mm512_storeu_si512(lanes.as_mut_ptr().cast(), values) };
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load(lanes: &[u64; 8]) -> __m512i {
    // SAFETY: the array has 64 bytes.
    unsafe { _mm512_loadu_si512(lanes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load_bytes(stripe: &[u8; STRIPE]) -> __m512i {
    // SAFETY: the array has 64 bytes.
    unsafe { _mm512_loadu_si512(stripe.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn store<const COPY: u8>(stripe: &mut [u8; STRIPE], data: __m512i) {
    // SAFETY: there are 64 bytes, and the caller has checked their alignment before it asks for streamed copies.
    unsafe {
        if COPY == STREAMED {
            _mm512_stream_si512(stripe.as_mut_ptr().cast(), data);
        } else {
            _mm512_storeu_si512(stripe.as_mut_ptr().cast(), data);
        }
    }
}

/// Returns eight words of the secret from byte `from` on.
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
