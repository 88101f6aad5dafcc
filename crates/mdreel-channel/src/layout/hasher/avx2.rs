//! XXH3 with AVX2. Two registers hold the lanes.

use std::arch::x86_64::*;

use super::specification::{
    COPIED, NONE, PRIME32, SCRAMBLE, SECRET, SOURCE_AHEAD, STREAMED, STRIPE, STRIPES, TARGET_AHEAD, take_stripes,
};

type Two = [__m256i; 2];

take_stripes!("avx2", Two);

#[inline]
#[target_feature(enable = "avx2")]
fn keep(lanes: &mut [u64; 8], values: Two) {
    // SAFETY: the array has 64 bytes.
    unsafe {
        _mm256_storeu_si256(lanes.as_mut_ptr().cast(), values[0]);
        _mm256_storeu_si256(lanes.as_mut_ptr().add(4).cast(), values[1]);
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn load(lanes: &[u64; 8]) -> Two {
    // SAFETY: the array has 64 bytes.
    unsafe { [_mm256_loadu_si256(lanes.as_ptr().cast()), _mm256_loadu_si256(lanes.as_ptr().add(4).cast())] }
}

#[inline]
#[target_feature(enable = "avx2")]
fn load_bytes(stripe: &[u8; STRIPE]) -> Two {
    // SAFETY: the array has 64 bytes.
    unsafe { [_mm256_loadu_si256(stripe.as_ptr().cast()), _mm256_loadu_si256(stripe.as_ptr().add(32).cast())] }
}

#[inline]
#[target_feature(enable = "avx2")]
fn store<const COPY: u8>(stripe: &mut [u8; STRIPE], data: Two) {
    // SAFETY: there are 64 bytes, and the caller has checked their alignment before it asks for streamed copies.
    unsafe {
        let (first, second) = (stripe.as_mut_ptr().cast(), stripe.as_mut_ptr().add(32).cast());
        if COPY == STREAMED {
            _mm256_stream_si256(first, data[0]);
            _mm256_stream_si256(second, data[1]);
        } else {
            _mm256_storeu_si256(first, data[0]);
            _mm256_storeu_si256(second, data[1]);
        }
    }
}

/// Returns eight words of the secret from byte `from` on.
#[inline]
#[target_feature(enable = "avx2")]
fn secret(from: usize) -> Two {
    assert!(from + STRIPE <= size_of_val(&SECRET));
    // SAFETY: these bytes are within the secret.
    unsafe {
        let at = SECRET.as_ptr().cast::<u8>().add(from);
        [_mm256_loadu_si256(at.cast()), _mm256_loadu_si256(at.add(32).cast())]
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn accumulate(lanes: Two, data: Two, from: usize) -> Two {
    let secret = secret(from);
    let half = |lanes, data, secret| {
        let keyed = _mm256_xor_si256(data, secret);
        let product = _mm256_mul_epu32(keyed, _mm256_srli_epi64::<32>(keyed));
        let neighbours = _mm256_shuffle_epi32::<0b01_00_11_10>(data);
        _mm256_add_epi64(lanes, _mm256_add_epi64(product, neighbours))
    };
    [half(lanes[0], data[0], secret[0]), half(lanes[1], data[1], secret[1])]
}

#[inline]
#[target_feature(enable = "avx2")]
fn scramble(lanes: Two) -> Two {
    let secret = secret(SCRAMBLE);
    let prime = _mm256_set1_epi64x(PRIME32[0] as i64);
    let half = |lanes, secret| {
        let mixed = _mm256_xor_si256(_mm256_xor_si256(lanes, _mm256_srli_epi64::<47>(lanes)), secret);
        let (low, high) = (_mm256_mul_epu32(mixed, prime), _mm256_srli_epi64::<32>(mixed));
        _mm256_add_epi64(low, _mm256_slli_epi64::<32>(_mm256_mul_epu32(high, prime)))
    };
    [half(lanes[0], secret[0]), half(lanes[1], secret[1])]
}
