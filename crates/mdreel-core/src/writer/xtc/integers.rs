//! Coordinates of a frame rounded to integers, and values derived from them that packing requires.

use crate::frame::Columns;
use crate::xtc_tables::{SMALL_INDICES, SMALL_RADICES};

/// Rounded coordinates of this magnitude or more do not fit into 32 bits.
const LIMIT: f32 = 2_147_483_648.0;

/// The integers of a frame.
#[derive(Debug, Default)]
pub(super) struct Integers {
    columns: [Vec<i32>; 3],
    atoms: Vec<[i32; 3]>,
    min: [i32; 3],
    max: [i32; 3],
}

impl Integers {
    /// Rounds positions times `scale` times `precision`, halves away from zero, with the float32 operations of the
    /// reference implementation.
    ///
    /// # Errors
    /// Returns the first atom with a coordinate that is not a number or is too far away, and the reason.
    pub(crate) fn round(&mut self, positions: Columns<'_>, scale: f32, precision: f32) -> Result<(), (usize, String)> {
        for (axis, column) in [positions.x, positions.y, positions.z].into_iter().enumerate() {
            // The code works column by column, in loops that the compiler vectorizes. `fits` is false for NaN as well.
            // The fold checks all coordinates, which is faster than stopping at the first that does not fit.
            let fits = |&coordinate: &f32| before_truncation(coordinate, scale, precision).abs() < LIMIT;
            if !column.iter().fold(true, |all, coordinate| all & fits(coordinate)) {
                return Err(misfit(axis, column, |coordinate| fits(&coordinate)));
            }
            let integers = &mut self.columns[axis];
            integers.clear();
            // SAFETY: the check above ensures that all of them are numbers within the range of i32. A cast that checks
            // again would take a fifth of the time.
            let truncated = |&coordinate: &f32| unsafe {
                before_truncation(coordinate, scale, precision).to_int_unchecked::<i32>()
            };
            integers.extend(column.iter().map(truncated));
            self.find_extremes(axis);
        }
        self.join_columns();
        self.check_extent()
    }

    /// Computes the nearest integer to each position times `scale`. The products must be below 2^22; the sum below has
    /// no room for larger ones.
    pub(crate) fn recover(&mut self, positions: Columns<'_>, scale: f32) {
        // Adding this number to one below 2^22 leaves the nearest integer in the lower bits of the sum. The compiler
        // vectorizes this.
        const SHIFT: f32 = 12_582_912.0;
        for (axis, column) in [positions.x, positions.y, positions.z].into_iter().enumerate() {
            let integers = &mut self.columns[axis];
            integers.clear();
            let nearest = |&position: &f32| (position * scale + SHIFT).to_bits().wrapping_sub(SHIFT.to_bits()) as i32;
            integers.extend(column.iter().map(nearest));
            self.find_extremes(axis);
        }
        self.join_columns();
    }

    fn find_extremes(&mut self, axis: usize) {
        let integers = &self.columns[axis];
        self.min[axis] = integers.iter().copied().fold(i32::MAX, i32::min);
        self.max[axis] = integers.iter().copied().fold(i32::MIN, i32::max);
    }

    fn join_columns(&mut self) {
        let [x, y, z] = &self.columns;
        self.atoms.clear();
        self.atoms.extend(x.iter().zip(y).zip(z).map(|((&x, &y), &z)| [x, y, z]));
    }

    /// Checks that the differences of coordinates fit into 31 bits.
    fn check_extent(&self) -> Result<(), (usize, String)> {
        let Some(axis) = (0..3).find(|&axis| self.max[axis] as f32 - self.min[axis] as f32 >= LIMIT) else {
            return Ok(());
        };
        let atom = self.atoms.iter().position(|atom| atom[axis] == self.max[axis]).unwrap_or_default();
        let axis = ['x', 'y', 'z'][axis];
        Err((atom, format!("{axis} lies too far from the other atoms' for this precision: lower the precision")))
    }

    /// Returns the integers of all atoms.
    pub(crate) fn atoms_mut(&mut self) -> &mut [[i32; 3]] {
        &mut self.atoms
    }

    /// Returns the smallest integer of each axis.
    pub(crate) fn min(&self) -> [i32; 3] {
        self.min
    }

    /// Returns the largest integer of each axis.
    pub(crate) fn max(&self) -> [i32; 3] {
        self.max
    }

    /// Returns the number of integers in the range of each axis.
    pub(crate) fn sizes(&self) -> [u32; 3] {
        [0, 1, 2].map(|axis| self.max[axis].wrapping_sub(self.min[axis]) as u32 + 1)
    }

    /// Returns the small index to begin with. It is the smallest one whose radix is not below the smallest distance of
    /// two neighbouring atoms. A distance is a sum over the axes.
    pub(crate) fn first_small_index(&self) -> u32 {
        let [x, y, z] = &self.columns;
        // As in the reference library, sums that exceed 32 bits wrap around.
        let difference = |pair: &[i32]| pair[0].wrapping_sub(pair[1]).wrapping_abs();
        let pairs = x.windows(2).zip(y.windows(2)).zip(z.windows(2));
        let distances = pairs.map(|((x, y), z)| difference(x).wrapping_add(difference(y)).wrapping_add(difference(z)));
        // The compiler vectorizes the fold, but not the iterator's minimum.
        let least = distances.fold(i32::MAX, i32::min);
        let first = *SMALL_INDICES.start();
        let last = *SMALL_INDICES.end();
        (first..last).find(|&index| SMALL_RADICES[index as usize] as i32 >= least).unwrap_or(last)
    }
}

/// Checks coordinates that are stored without rounding.
pub(super) fn check_numbers(positions: Columns<'_>) -> Result<(), (usize, String)> {
    let mut columns = [positions.x, positions.y, positions.z].into_iter().enumerate();
    let wrong = columns.find(|(_, column)| column.iter().any(|coordinate| !coordinate.is_finite()));
    wrong.map_or(Ok(()), |(axis, column)| Err(misfit(axis, column, f32::is_finite)))
}

/// Returns the number whose truncation is the rounded coordinate. It adds one half, away from zero.
#[inline(always)]
fn before_truncation(coordinate: f32, scale: f32, precision: f32) -> f32 {
    let scaled = coordinate * scale;
    scaled * precision + if scaled >= 0.0 { 0.5 } else { -0.5 }
}

/// Returns the atom of the first coordinate that does not fit, and the reason.
fn misfit(axis: usize, column: &[f32], fits: impl Fn(f32) -> bool) -> (usize, String) {
    let atom = column.iter().position(|&coordinate| !fits(coordinate)).unwrap_or_default();
    let (name, value) = (['x', 'y', 'z'][axis], column[atom]);
    if value.is_finite() {
        (atom, format!("{name} = {value} Å is too far away for this precision: lower the precision"))
    } else {
        (atom, format!("{name} is {value}; expected a number"))
    }
}
