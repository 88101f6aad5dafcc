//! Groups of atoms. A group consists of a big coordinate and a run of small ones, which are differences from the
//! previous atom.

use super::bits::BitWriter;
use super::integers::Integers;
use crate::xtc_tables::{MAX_PACKED_SIZE, SMALL_INDICES, SMALL_RADICES, packed_bits};

/// Maximum length of a run of small coordinates.
const MAX_RUN: usize = 8;
/// Maximum rise of the small index above the index at the beginning of a frame.
const RISE: u32 = 8;

/// Returns a number of bytes that is enough for any `n_atoms` atoms. In the worst case, each atom has a big coordinate
/// of three 32-bit fields, and six control bits.
pub(super) fn most_bytes(n_atoms: usize) -> usize {
    (n_atoms * (3 * 32 + 6)).div_ceil(8)
}

/// The encoding of big coordinates.
#[derive(Debug, Clone, Copy)]
enum Big {
    /// A mixed-radix number with this number of bits.
    Packed(u32),
    /// Three separate fields with these numbers of bits.
    Fields([u32; 3]),
}

impl Big {
    fn new(sizes: [u32; 3]) -> Self {
        if sizes.iter().any(|&size| size > MAX_PACKED_SIZE) {
            Big::Fields(sizes.map(|size| u32::BITS - size.leading_zeros()))
        } else {
            Big::Packed(packed_bits(sizes))
        }
    }

    #[inline(always)]
    fn write(self, coordinate: [u32; 3], sizes: [u32; 3], bits: &mut BitWriter<'_>) {
        match self {
            Big::Packed(n_bits) => write_mixed(coordinate, sizes, n_bits, bits),
            Big::Fields(n_bits) => {
                (0..3).for_each(|axis| bits.field(u64::from(coordinate[axis]), n_bits[axis]));
            }
        }
    }
}

/// Writes three components as one number whose digits have the radices `sizes`.
#[inline(always)]
fn write_mixed(components: [u32; 3], sizes: [u32; 3], n_bits: u32, bits: &mut BitWriter<'_>) {
    let [x, y, z] = components.map(u64::from);
    // Two components together have less than 48 bits, so this does not overflow.
    let xy = x * u64::from(sizes[1]) + y;
    if n_bits <= 64 {
        bits.number(xy * u64::from(sizes[2]) + z, n_bits);
    } else {
        bits.wide_number(u128::from(xy) * u128::from(sizes[2]) + u128::from(z), n_bits);
    }
}

/// The change of the small index after a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    Down = -1,
    Stay = 0,
    Up = 1,
}

/// The small index, which adapts to the distances between atoms.
struct Adaptation {
    index: u32,
    least: u32,
    most: u32,
    /// Distances below this limit let the index rise.
    larger: i32,
}

impl Adaptation {
    fn new(index: u32) -> Self {
        // If a frame begins with an index above 64 (no two neighbouring atoms closer than 2,642,245 integers), the
        // reference library reads beyond the end of its table here. It then writes data that it cannot read. With the
        // end of the table as the limit, the data is readable.
        let most = (index + RISE).min(*SMALL_INDICES.end());
        let larger = (SMALL_RADICES[most as usize] / 2) as i32;
        Adaptation { index, least: most - RISE, most, larger }
    }

    /// Returns the limit for differences of small coordinates: half the radix.
    fn small(&self) -> i32 {
        (SMALL_RADICES[self.index as usize] / 2) as i32
    }

    /// Returns the square of this limit at the next lower index.
    fn smaller_squared(&self) -> i32 {
        let smaller = (SMALL_RADICES[self.index as usize - 1] / 2) as i32;
        smaller.wrapping_mul(smaller)
    }

    /// Returns the change that an atom suggests, given its distance from the previous atom.
    fn tendency(&self, atom: [i32; 3], previous: Option<[i32; 3]>) -> Change {
        if self.index < self.most && previous.is_some_and(|previous| is_within(atom, previous, self.larger)) {
            Change::Up
        } else if self.index > self.least {
            Change::Down
        } else {
            Change::Stay
        }
    }

    fn follow(&mut self, change: Change) {
        self.index = self.index.wrapping_add_signed(change as i32);
    }
}

/// Packs the atoms of a frame. It swaps the first two atoms of each group that has a run.
pub(super) fn pack(integers: &mut Integers, first_small_index: u32, bits: &mut BitWriter<'_>) {
    let (min, sizes) = (integers.min(), integers.sizes());
    let big = Big::new(sizes);
    let atoms = integers.atoms_mut();
    let mut adaptation = Adaptation::new(first_small_index);
    let mut previous = None;
    let mut previous_run = None;
    let mut at = 0;
    while at < atoms.len() {
        let small = adaptation.small();
        let mut change = adaptation.tendency(atoms[at], previous);
        let has_run = at + 1 < atoms.len() && is_within(atoms[at], atoms[at + 1], small);
        if has_run {
            // When the second atom comes first, both hydrogens of a water molecule are close to the atom before them.
            atoms.swap(at, at + 1);
        }
        let offset = |axis: usize| atoms[at][axis].wrapping_sub(min[axis]) as u32;
        big.write([offset(0), offset(1), offset(2)], sizes, bits);
        let run = if has_run { run_length(&atoms[at..], small) } else { 0 };
        let group = &atoms[at..=at + run];
        if change == Change::Down && (run == 0 || !is_tight(group, adaptation.smaller_squared())) {
            change = Change::Stay;
        }
        if previous_run == Some(run) && change == Change::Stay {
            bits.field(0, 1);
        } else {
            bits.field(1 << 5 | (3 * run as i64 + change as i64 + 1) as u64, 6);
            previous_run = Some(run);
        }
        write_run(group, adaptation.index, bits);
        previous = group.last().copied();
        at += group.len();
        adaptation.follow(change);
    }
}

/// Returns the number of atoms after the first one that are each close to the previous atom.
fn run_length(atoms: &[[i32; 3]], small: i32) -> usize {
    let steps = atoms.windows(2).take(MAX_RUN).enumerate();
    // The first two atoms are close: this is why they were swapped.
    steps.take_while(|(k, pair)| *k == 0 || is_within(pair[1], pair[0], small)).count()
}

/// Returns whether all steps of a run would fit the next lower index. As in the reference library, squares that exceed
/// 32 bits wrap around.
fn is_tight(group: &[[i32; 3]], limit: i32) -> bool {
    group.windows(2).all(|pair| {
        let square = |axis: usize| {
            let difference = pair[1][axis].wrapping_sub(pair[0][axis]);
            difference.wrapping_mul(difference)
        };
        square(0).wrapping_add(square(1)).wrapping_add(square(2)) < limit
    })
}

/// Writes the small coordinates of a group.
fn write_run(group: &[[i32; 3]], index: u32, bits: &mut BitWriter<'_>) {
    let radix = SMALL_RADICES[index as usize];
    for pair in group.windows(2) {
        let offset = |axis: usize| pair[1][axis].wrapping_sub(pair[0][axis]).wrapping_add((radix / 2) as i32) as u32;
        write_mixed([offset(0), offset(1), offset(2)], [radix; 3], index, bits);
    }
}

#[inline(always)]
fn is_within(a: [i32; 3], b: [i32; 3], limit: i32) -> bool {
    (0..3).all(|axis| a[axis].wrapping_sub(b[axis]).wrapping_abs() < limit)
}
