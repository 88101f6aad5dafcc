//! Tables of the XTC format that the decoder and the encoder share.

use std::ops::RangeInclusive;

/// The small indices that a frame may use. An index is also the number of bits of a small coordinate.
pub(crate) const SMALL_INDICES: RangeInclusive<u32> = 9..=72;

/// Radix of each small index: about `2^(index / 3)`, so that three components fit in `index` bits. The values are part
/// of the format (`magicints` in the 3dfcoord description).
pub(crate) const SMALL_RADICES: [u32; 73] = [
    0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 10, 12, 16, 20, 25, 32, 40, 50, 64, 80, 101, 128, 161, 203, 256, 322, 406, 512, 645,
    812, 1024, 1290, 1625, 2048, 2580, 3250, 4096, 5060, 6501, 8192, 10321, 13003, 16384, 20642, 26007, 32768, 41285,
    52015, 65536, 82570, 104031, 131072, 165140, 208063, 262144, 330280, 416127, 524287, 660561, 832255, 1048576,
    1321122, 1664510, 2097152, 2642245, 3329021, 4194304, 5284491, 6658042, 8388607, 10568983, 13316085, 16777216,
];

/// The largest size of a packed component. The format stores wider components as three separate fields.
pub(crate) const MAX_PACKED_SIZE: u32 = 0xff_ffff;

/// Returns the number of bits of a mixed-radix number with these sizes.
pub(crate) fn packed_bits(sizes: [u32; 3]) -> u32 {
    128 - sizes.iter().map(|&size| u128::from(size)).product::<u128>().leading_zeros()
}
