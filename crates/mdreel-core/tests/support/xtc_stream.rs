//! Random, valid XTC frames. The writer is not a compressor: it draws the groups themselves. It therefore covers
//! everything that the format allows, including streams that no encoder would write for real coordinates.

use crate::xtc_oracle::{product_bits, small_radices};

/// A die whose numbers come from given bytes. After these bytes, it continues with random numbers from a seed that
/// depends on them. Both a property test and a fuzzer can therefore control it.
pub(crate) struct Dice<'a> {
    bytes: &'a [u8],
    state: u64,
}

impl<'a> Dice<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        let state = bytes.iter().fold(1, |sum: u64, &byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        Dice { bytes, state }
    }

    /// Returns a number from 0 to `n - 1`, where `n > 0`.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        if n <= 1 {
            return 0;
        }
        let width = (64 - (n - 1).leading_zeros()).div_ceil(8) as usize;
        if self.bytes.len() >= width {
            let (taken, rest) = self.bytes.split_at(width);
            self.bytes = rest;
            return taken.iter().fold(0, |value, &byte| value << 8 | u64::from(byte)) % n;
        }
        self.bytes = &[];
        // splitmix64
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ z >> 31) % n
    }

    /// Returns a number from `low` to `high`, both included.
    pub(crate) fn between(&mut self, low: i64, high: i64) -> i64 {
        low + self.below((high - low + 1) as u64) as i64
    }

    /// Returns `true` in one of `n` cases.
    pub(crate) fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

/// A writer that appends bits, with the first bit as the highest.
#[derive(Default)]
struct BitWriter {
    bytes: Vec<u8>,
    n_bits: usize,
}

impl BitWriter {
    fn bit(&mut self, one: bool) {
        if self.n_bits.is_multiple_of(8) {
            self.bytes.push(0);
        }
        if one {
            self.bytes[self.n_bits / 8] |= 0x80 >> (self.n_bits % 8);
        }
        self.n_bits += 1;
    }

    fn field(&mut self, value: u128, n_bits: u32) {
        for k in (0..n_bits).rev() {
            self.bit(value >> k & 1 == 1);
        }
    }

    /// Appends a number of `n_bits` bits, with its least significant byte first. The last byte may be incomplete.
    fn packed(&mut self, mut value: u128, mut n_bits: u32) {
        while n_bits > 0 {
            let width = n_bits.min(8);
            self.field(value & ((1 << width) - 1), width);
            value >>= width;
            n_bits -= width;
        }
    }
}

/// The storage of the big coordinates of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Width {
    /// One number of about the given number of bits, from 1 to 72.
    Packed(u32),
    /// Three fields, at least one of more than 24 bits.
    Fields,
}

/// The parameters of a random frame.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    pub n_atoms: usize,
    pub magic: u32,
    pub width: Width,
    /// The longest run to draw, at most 10. Short runs make long frames.
    pub most_run: i64,
}

impl Shape {
    /// Draws a shape for `n_atoms` atoms.
    pub(crate) fn draw(dice: &mut Dice<'_>, n_atoms: usize) -> Shape {
        let magic = if dice.one_in(2) { 1995 } else { 2023 };
        let width = if dice.one_in(6) { Width::Fields } else { Width::Packed(1 + dice.below(72) as u32) };
        let most_run = if dice.one_in(3) { dice.between(0, 10) } else { 8 };
        Shape { n_atoms, magic, width, most_run }
    }
}

/// Draws a number of exactly `n_bits` bits, or returns 1 if `n_bits` is 0.
fn size_of(dice: &mut Dice<'_>, n_bits: u32) -> u32 {
    match n_bits {
        0 => 1,
        _ if dice.one_in(8) => 1 << (n_bits - 1),
        _ if dice.one_in(8) => ((1u64 << n_bits) - 1) as u32,
        _ => (1u32 << (n_bits - 1)) + dice.below(1 << (n_bits - 1)) as u32,
    }
}

fn draw_sizes(dice: &mut Dice<'_>, width: Width) -> [u32; 3] {
    let mut sizes = match width {
        Width::Packed(bits) => {
            let x = dice.between(i64::from(bits.saturating_sub(48)), i64::from(bits.min(24))) as u32;
            let y = dice.between(i64::from((bits - x).saturating_sub(24)), i64::from((bits - x).min(24))) as u32;
            [size_of(dice, x), size_of(dice, y), size_of(dice, bits - x - y)]
        }
        Width::Fields => {
            let wide = 25 + dice.below(8) as u32;
            let others = [dice.below(33) as u32, dice.below(33) as u32];
            [size_of(dice, wide), size_of(dice, others[0]), size_of(dice, others[1])]
        }
    };
    sizes.rotate_left(dice.below(3) as usize);
    sizes
}

/// The features that occurred in random frames, so that a test can check that all of them did.
#[derive(Debug, Default)]
pub(crate) struct Coverage {
    pub packed_bits: std::collections::BTreeSet<usize>,
    pub field_bits: std::collections::BTreeSet<usize>,
    pub small_indices: std::collections::BTreeSet<u32>,
    pub runs: std::collections::BTreeSet<i64>,
    pub kept_runs: std::collections::BTreeSet<i64>,
    pub changes: std::collections::BTreeSet<i64>,
    pub thin_axes: bool,
}

/// Appends a random frame of the given shape to `file`.
pub(crate) fn append_frame(dice: &mut Dice<'_>, shape: Shape, file: &mut Vec<u8>, coverage: &mut Coverage) {
    let words = |file: &mut Vec<u8>, words: &[u32]| words.iter().for_each(|word| file.extend(word.to_be_bytes()));
    let step = dice.between(-1000, 1_000_000) as i32;
    let time = dice.between(-1000, 1_000_000) as f32 / 64.0;
    words(file, &[shape.magic, shape.n_atoms as u32, step as u32, time.to_bits()]);
    let no_box = dice.one_in(5);
    for k in 0..9 {
        let edge = if no_box || (k % 4 != 0 && dice.one_in(2)) { 0.0 } else { dice.between(-4000, 90000) as f32 / 1e3 };
        words(file, &[edge.to_bits()]);
    }
    words(file, &[shape.n_atoms as u32]);
    if shape.n_atoms <= 9 {
        for _ in 0..3 * shape.n_atoms {
            words(file, &[(dice.between(-1_000_000, 1_000_000) as f32 / 999.0).to_bits()]);
        }
        return;
    }
    let precision = [1000.0, 100.0, 1.0, 12345.678, 1e6, 0.25, 1e-3][dice.below(7) as usize];
    let sizes = draw_sizes(dice, shape.width);
    coverage.thin_axes |= sizes.contains(&1);
    let min = sizes.map(|size| match dice.below(3) {
        0 => dice.between(-(1 << 31), (1 << 31) - i64::from(size)),
        1 => -i64::from(size / 2),
        _ => dice.between(-5000, 5000).min((1 << 31) - i64::from(size)),
    });
    let small_index = dice.between(9, 72) as u32;
    let max = [0, 1, 2].map(|axis| min[axis] + i64::from(sizes[axis]) - 1);
    words(file, &[f32::to_bits(precision)]);
    words(file, &min.map(|v| v as i32 as u32));
    words(file, &max.map(|v| v as i32 as u32));
    words(file, &[small_index]);
    let bits = draw_groups(dice, shape, sizes, small_index, coverage);
    let n_bytes = bits.len() as u64;
    if shape.magic == 2023 {
        words(file, &[(n_bytes >> 32) as u32]);
    }
    words(file, &[n_bytes as u32]);
    file.extend(bits);
    while !file.len().is_multiple_of(4) {
        file.push(dice.below(2) as u8 * 0xff);
    }
}

fn draw_groups(
    dice: &mut Dice<'_>,
    shape: Shape,
    sizes: [u32; 3],
    mut small_index: u32,
    coverage: &mut Coverage,
) -> Vec<u8> {
    let mut bits = BitWriter::default();
    let fields = sizes.iter().any(|&size| size >= 1 << 24);
    let mut left = shape.n_atoms as i64;
    let mut run = 0;
    // `drift` is the preferred change of the small index. Many groups keep the length of the previous run, as in real
    // frames.
    let drift = dice.between(-1, 1);
    while left > 0 {
        let big = sizes.map(|size| match dice.below(6) {
            0 => 0,
            1 => size - 1,
            _ => dice.below(u64::from(size)) as u32,
        });
        if fields {
            for axis in 0..3 {
                let n_bits = product_bits([sizes[axis], 1, 1]);
                coverage.field_bits.insert(n_bits);
                bits.field(u128::from(big[axis]), n_bits as u32);
            }
        } else {
            coverage.packed_bits.insert(product_bits(sizes));
            bits.packed(mixed(big, sizes), product_bits(sizes) as u32);
        }
        let mut change = 0;
        if run < left && dice.one_in(2) {
            bits.bit(false);
            coverage.kept_runs.insert(run);
        } else {
            run = dice.between(0, shape.most_run.min(left - 1));
            change = if dice.one_in(2) { drift } else { dice.between(-1, 1) };
            if !(9..=72).contains(&(i64::from(small_index) + change)) || (run == 10 && change == 1) {
                change = 0;
            }
            bits.bit(true);
            bits.field((3 * run + change + 1) as u128, 5);
            coverage.runs.insert(run);
            coverage.changes.insert(change);
        }
        for _ in 0..run {
            let radix = small_radices()[small_index as usize];
            coverage.small_indices.insert(small_index);
            let small = [0; 3].map(|_: u32| match dice.below(6) {
                0 => 0,
                1 => radix - 1,
                2 => radix / 2,
                _ => dice.below(u64::from(radix)) as u32,
            });
            bits.packed(mixed(small, [radix; 3]), small_index);
        }
        small_index = (i64::from(small_index) + change) as u32;
        left -= run + 1;
    }
    bits.bytes
}

fn mixed(components: [u32; 3], sizes: [u32; 3]) -> u128 {
    let [x, y, z] = components.map(u128::from);
    (x * u128::from(sizes[1]) + y) * u128::from(sizes[2]) + z
}

/// Creates a file of `n_frames` random frames.
pub(crate) fn random_file(dice: &mut Dice<'_>, n_atoms: usize, n_frames: usize, coverage: &mut Coverage) -> Vec<u8> {
    let mut file = Vec::new();
    for _ in 0..n_frames {
        let shape = Shape::draw(dice, n_atoms);
        append_frame(dice, shape, &mut file, coverage);
    }
    file
}

/// Selects some of `n_atoms` atoms: none, all, one, a stretch, a few, most, the first or the last.
pub(crate) fn draw_selection(dice: &mut Dice<'_>, n_atoms: usize) -> Vec<u32> {
    let n = n_atoms as u64;
    let (a, b) = (dice.below(n) as u32, dice.below(n) as u32);
    let stretch = a.min(b)..=a.max(b);
    let all = 0..n_atoms as u32;
    match dice.below(9) {
        0 => Vec::new(),
        1 => all.collect(),
        2 => vec![a],
        3 => stretch.collect(),
        4 => vec![0],
        5 => vec![n_atoms as u32 - 1],
        6 => (0..=a).collect(),
        7 => all.filter(|_| dice.one_in(13)).collect(),
        _ => all.filter(|_| !dice.one_in(7)).collect(),
    }
}
