//! The nearest of several centres to each row of numbers, and the sums of the rows of each centre. This is one
//! iteration of the algorithm of S. P. Lloyd, IEEE Trans. Inf. Theory 28, 129 (1982), known as k-means.

use std::ops::Range;

use crate::error::{Error, Result};
use crate::frame::LANES;
use crate::pool::{Crew, Monitor, Shared, Worker, run_blocks};
use crate::simd::{Lanes, Level, Octet, Operation};

/// Number of rows in a block. Sums are added block by block, so this number affects the bits of the result.
const BLOCK: usize = 256;
/// Number of rows between two calls of `tick`.
const PORTION: usize = 16;

/// A number of single or double precision.
pub trait Number: Copy + Send + Sync + Into<f64> {}

impl Number for f32 {}
impl Number for f64 {}

/// The nearest centre of each row.
#[derive(Debug, Clone, PartialEq)]
pub struct Assignment {
    /// The centre of each row.
    pub labels: Vec<u32>,
    /// The square distance of each row from its centre.
    pub squares: Vec<f64>,
    /// The sum of the rows of each centre, one centre after another.
    pub sums: Vec<f64>,
}

/// Finds the nearest centre of each row of `n_values` numbers. If several centres are equally near, it is the first of
/// them. The function ignores further numbers in a row.
///
/// `centres` contains `n_values` numbers for each centre. The function works on `n_workers` threads, and the bits of
/// the result do not depend on their number. Returns an error if the shapes do not match, or a distance is not finite.
pub fn nearest_centres<T: Number>(
    rows: &[&[T]],
    n_values: usize,
    centres: &[f64],
    n_workers: usize,
    monitor: &mut dyn Monitor,
) -> Result<Assignment> {
    if n_values == 0 || centres.is_empty() || !centres.len().is_multiple_of(n_values) {
        let message = format!("{} numbers are no centres of {n_values} values", centres.len());
        return Err(Error::mismatch(message));
    }
    if let Some(row) = rows.iter().find(|row| row.len() < n_values) {
        return Err(Error::mismatch(format!("a row has {} numbers, but the centres have {n_values}", row.len())));
    }
    let padded: Vec<Vec<Octet>> = centres.chunks_exact(n_values).map(octets).collect();
    let mut found = Assignment {
        labels: Vec::with_capacity(rows.len()),
        squares: Vec::with_capacity(rows.len()),
        sums: vec![0.0; centres.len()],
    };
    let level = Level::detect();
    let make_worker =
        |_: usize| Ok(Assigner { rows, n_values, centres: &padded, level, row: octets(&centres[..n_values]) });
    run_blocks(
        0..rows.len().div_ceil(BLOCK),
        Crew::on_demand(n_workers),
        make_worker,
        monitor,
        |block: Assignment| {
            found.labels.extend(block.labels);
            found.squares.extend(block.squares);
            found.sums.iter_mut().zip(block.sums).for_each(|(sum, part)| *sum += part);
            Ok(())
        },
    )?;
    Ok(found)
}

/// Returns numbers in complete octets, padded with zeros.
fn octets<T: Number>(values: &[T]) -> Vec<Octet> {
    let mut padded = vec![Octet::default(); values.len().div_ceil(LANES)];
    fill(&mut padded, values);
    padded
}

fn fill<T: Number>(padded: &mut [Octet], values: &[T]) {
    for (octet, part) in padded.iter_mut().zip(values.chunks(LANES)) {
        octet.0.iter_mut().zip(part).for_each(|(place, value)| *place = (*value).into());
    }
}

struct Assigner<'a, T> {
    rows: &'a [&'a [T]],
    n_values: usize,
    centres: &'a [Vec<Octet>],
    level: Level,
    /// The current row, padded with zeros.
    row: Vec<Octet>,
}

impl<T: Number> Worker for Assigner<'_, T> {
    type Output = Assignment;

    /// The limit is low because the sums of many centres are large.
    const AHEAD: usize = 4;

    fn work(&mut self, block: usize, shared: &Shared, tick: &mut dyn FnMut()) -> Result<Assignment> {
        let numbers: Range<usize> = block * BLOCK..self.rows.len().min((block + 1) * BLOCK);
        let mut found = Assignment {
            labels: Vec::with_capacity(numbers.len()),
            squares: Vec::with_capacity(numbers.len()),
            sums: vec![0.0; self.centres.len() * self.n_values],
        };
        for number in numbers.clone() {
            if number % PORTION == 0 {
                tick();
                if !shared.wanted(block) {
                    break;
                }
            }
            let values = &self.rows[number][..self.n_values];
            fill(&mut self.row, values);
            let (label, square) = self.level.run(Nearest { row: &self.row, centres: self.centres });
            if !square.is_finite() {
                let message = "is not finite, or too large for a float64";
                return Err(Error::mismatch(format!("frame {number} of those compared {message}")));
            }
            let sums = &mut found.sums[label * self.n_values..][..self.n_values];
            for (sum, value) in sums.iter_mut().zip(values) {
                let value: f64 = (*value).into();
                *sum += value;
            }
            found.labels.push(label as u32);
            found.squares.push(square);
        }
        shared.add_frames(numbers.len());
        Ok(found)
    }
}

/// An operation that finds the nearest centre and its square distance. The square distance is infinite if no distance
/// is finite.
struct Nearest<'a> {
    row: &'a [Octet],
    centres: &'a [Vec<Octet>],
}

impl Operation for Nearest<'_> {
    type Output = (usize, f64);

    #[inline(always)]
    fn run<L: Lanes>(self) -> (usize, f64) {
        let mut nearest = (0, f64::INFINITY);
        for (number, centre) in self.centres.iter().enumerate() {
            let mut totals = [L::splat(0.0); 2];
            for (row, centre) in self.row.chunks(2).zip(centre.chunks(2)) {
                for (total, (row, centre)) in totals.iter_mut().zip(row.iter().zip(centre)) {
                    let distance = L::load(row).sub(L::load(centre));
                    *total = distance.mul_add(distance, *total);
                }
            }
            let square = totals[0].add(totals[1]).sum();
            if square < nearest.1 {
                nearest = (number, square);
            }
        }
        nearest
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::pool::Unattended;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn rows_have_the_nearest_centre_and_the_sums_of_their_rows(
            (rows, centres) in (1usize..30).prop_flat_map(|n_values| (
                prop::collection::vec(prop::collection::vec(-9f32..9.0, n_values), 1..600),
                prop::collection::vec(prop::collection::vec(-9f64..9.0, n_values), 1..7),
            )),
        ) {
            let n_values = rows[0].len();
            let double: Vec<Vec<f64>> = rows.iter().map(|row| row.iter().map(|x| f64::from(*x)).collect()).collect();
            let slices: Vec<&[f32]> = rows.iter().map(Vec::as_slice).collect();
            let doubles: Vec<&[f64]> = double.iter().map(Vec::as_slice).collect();
            let flat = centres.concat();
            let found = nearest_centres(&slices, n_values, &flat, 1, &mut Unattended).unwrap();
            prop_assert_eq!(&nearest_centres(&slices, n_values, &flat, 3, &mut Unattended).unwrap(), &found);
            prop_assert_eq!(&nearest_centres(&doubles, n_values, &flat, 2, &mut Unattended).unwrap(), &found);
            let mut sums = vec![0.0; flat.len()];
            for ((row, label), square) in double.iter().zip(&found.labels).zip(&found.squares) {
                let from = |centre: &Vec<f64>| row.iter().zip(centre).map(|(x, c)| (x - c) * (x - c)).sum::<f64>();
                let squares: Vec<f64> = centres.iter().map(from).collect();
                let least = squares.iter().copied().fold(f64::INFINITY, f64::min);
                prop_assert!((squares[*label as usize] - least).abs() <= 1e-12 * (1.0 + least));
                prop_assert!((square - least).abs() <= 1e-12 * (1.0 + least));
                (0..n_values).for_each(|k| sums[*label as usize * n_values + k] += row[k]);
            }
            for (sum, expected) in found.sums.iter().zip(&sums) {
                prop_assert!((sum - expected).abs() <= 1e-9);
            }
        }

        #[test]
        fn every_instruction_set_gives_the_same_bits(
            row in prop::collection::vec(-9f64..9.0, 1..60), shift in prop::collection::vec(-1f64..1.0, 60),
        ) {
            let centre: Vec<f64> = row.iter().zip(&shift).map(|(x, s)| x + s).collect();
            let (row, centres) = (octets(&row), [octets(&centre)]);
            let found = |level: Level| level.run(Nearest { row: &row, centres: &centres }).1.to_bits();
            let all: Vec<u64> = Level::available().into_iter().map(found).collect();
            prop_assert!(all.iter().all(|bits| *bits == all[0]));
        }
    }

    #[test]
    fn first_of_equal_centres_is_taken_and_the_other_stays_empty() {
        let rows: [&[f32]; 2] = [&[1.0, 2.0, 99.0], &[3.0, 4.0, f32::NAN]];
        let found = nearest_centres(&rows, 2, &[2.0, 3.0, 2.0, 3.0], 1, &mut Unattended).unwrap();
        assert_eq!(found, Assignment { labels: vec![0, 0], squares: vec![2.0, 2.0], sums: vec![4.0, 6.0, 0.0, 0.0] });
    }

    #[test]
    fn what_cannot_be_assigned_is_named() {
        let message = |rows: &[&[f32]], n_values, centres: &[f64]| {
            nearest_centres(rows, n_values, centres, 1, &mut Unattended).unwrap_err().to_string()
        };
        assert!(message(&[&[1.0]], 2, &[1.0, 2.0]).contains("a row has 1 numbers, but the centres have 2"));
        assert!(message(&[&[1.0]], 1, &[]).contains("0 numbers are no centres of 1 values"));
        assert!(message(&[&[1.0]], 0, &[1.0]).contains("1 numbers are no centres of 0 values"));
        assert!(message(&[&[1.0], &[f32::NAN]], 1, &[1.0]).contains("frame 1 of those compared is not finite"));
    }

    struct Stop;

    impl Monitor for Stop {
        fn poll(&mut self, _frames_done: u64) -> bool {
            false
        }
    }

    #[test]
    fn assignment_can_be_interrupted() {
        let row = vec![1f32; 20_000];
        let rows: Vec<&[f32]> = vec![&row; 20_000];
        let found = nearest_centres(&rows, row.len(), &vec![0.5; 8 * row.len()], 1, &mut Stop);
        assert!(matches!(found, Err(Error::Interrupted)));
    }
}
