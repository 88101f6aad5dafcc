//! Constants of XXH3, named as in its specification (`doc/xxhash_spec.md` of xxHash), and the loop over its stripes.

/// The number of bytes that a step adds.
pub(super) const STRIPE: usize = 64;
/// The number of steps between two scramblings.
pub(super) const STRIPES: usize = 16;
pub(super) const PRIME32: [u64; 3] = [0x9E37_79B1, 0x85EB_CA77, 0xC2B2_AE3D];
pub(super) const PRIME64: [u64; 5] =
    [0x9E37_79B1_85EB_CA87, 0xC2B2_AE3D_27D4_EB4F, 0x1656_67B1_9E37_79F9, 0x85EB_CA77_C2B2_AE63, 0x27D4_EB2F_1656_67C5];
/// The multiplier of the final mixing.
pub(super) const AVALANCHE: u64 = 0x1656_6791_9E37_79F9;
/// The default secret, little endian.
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
/// The offsets in the secret, in bytes, of the words for the scrambling, for the last stripe, and for the final mixing.
pub(super) const SCRAMBLE: usize = 128;
pub(super) const LAST: usize = 121;
pub(super) const MIX: usize = 11;

/// What `take` does with the stripes besides adding them to the lanes: nothing, copy them, or copy them with stores that bypass the
/// caches, to a place that is a multiple of [`STRIPE`].
pub(super) const NONE: u8 = 0;
pub(super) const COPIED: u8 = 1;
pub(super) const STREAMED: u8 = 2;
/// The distances, in bytes, at which the source and the target of a copy are loaded into the first cache. Loads and stores would
/// wait for each cache line otherwise.
pub(super) const SOURCE_AHEAD: usize = 2048;
pub(super) const TARGET_AHEAD: usize = 1024;

/// Defines the function that adds stripes, based on the operations of a kernel.
macro_rules! take_stripes {
    ($feature:literal, $vector:ty) => {
        /// Adds stripes to the lanes, and copies them as `COPY` says. `n_stripes` have been added since the last scrambling.
        #[target_feature(enable = $feature)]
        pub(super) fn take<const COPY: u8>(
            kept: &mut [u64; 8],
            n_stripes: &mut usize,
            stripes: &[[u8; STRIPE]],
            to: &mut [[u8; STRIPE]],
        ) {
            let mut lanes = load(kept);
            let n_first = stripes.len().min((STRIPES - *n_stripes) % STRIPES);
            let (first, rest) = stripes.split_at(n_first);
            let (to_first, to_rest) = to.split_at_mut(if COPY == NONE { 0 } else { n_first });
            lanes = step::<COPY>(lanes, n_stripes, first, to_first);
            if *n_stripes == STRIPES {
                lanes = scramble(lanes);
                *n_stripes = 0;
            }
            let (blocks, rest) = rest.as_chunks::<STRIPES>();
            let (to_blocks, to_rest) = to_rest.as_chunks_mut::<STRIPES>();
            for (number, block) in blocks.iter().enumerate() {
                for (n, stripe) in block.iter().enumerate() {
                    if COPY == COPIED {
                        _mm_prefetch::<_MM_HINT_T0>(stripe.as_ptr().wrapping_add(SOURCE_AHEAD).cast());
                        _mm_prefetch::<_MM_HINT_ET0>(to_blocks[number][n].as_ptr().wrapping_add(TARGET_AHEAD).cast());
                    }
                    let data = load_bytes(stripe);
                    lanes = accumulate(lanes, data, 8 * n);
                    if COPY != NONE {
                        store::<COPY>(&mut to_blocks[number][n], data);
                    }
                }
                lanes = scramble(lanes);
            }
            lanes = step::<COPY>(lanes, n_stripes, rest, to_rest);
            keep(kept, lanes);
            if COPY == STREAMED {
                // Stores that bypass the caches are not ordered before later stores. Another processor may read the bytes after one.
                _mm_sfence();
            }
        }

        /// Adds stripes of which only the last may end a block.
        #[inline]
        #[target_feature(enable = $feature)]
        fn step<const COPY: u8>(
            mut lanes: $vector,
            n_stripes: &mut usize,
            stripes: &[[u8; STRIPE]],
            to: &mut [[u8; STRIPE]],
        ) -> $vector {
            for (n, stripe) in stripes.iter().enumerate() {
                let data = load_bytes(stripe);
                lanes = accumulate(lanes, data, 8 * *n_stripes);
                *n_stripes += 1;
                if COPY != NONE {
                    store::<COPY>(&mut to[n], data);
                }
            }
            lanes
        }
    };
}
pub(super) use take_stripes;
