//! Units of atoms, and the pairs of units that may be in contact.

use std::ops::Range;

use crate::error::{Error, Result};

/// Units (residues) of a group, with ascending numbers.
#[derive(Debug, Clone, Default)]
pub struct Units {
    /// The number of each unit among the units of both groups, ascending.
    pub numbers: Vec<u32>,
    /// For each unit, the index of its first atom in `atoms`, followed by the number of all atoms.
    pub starts: Vec<u32>,
    /// The indices of the atoms in a frame.
    pub atoms: Vec<u32>,
}

/// Pairs of units that may be in contact, by their numbers.
#[derive(Debug, Clone)]
pub enum Choice {
    /// All units whose positions in the sequence differ by at least `separation`.
    Apart {
        /// The position in the sequence of each number, in ascending order.
        positions: Vec<i64>,
        /// The smallest difference, 1 or more.
        separation: i64,
    },
    /// The listed pairs of `n_units` units. The first unit of each pair is a row, the second a column.
    Listed {
        /// The number of possible unit numbers.
        n_units: usize,
        /// The pairs.
        pairs: Vec<[u32; 2]>,
    },
}

/// For each unit of the first group (row), the units of the second group (columns) that may be in contact with it.
#[derive(Debug)]
pub(super) struct Rule {
    n_units: usize,
    numbers: [Vec<u32>; 2],
    /// Two column indices for each row. The columns below the first index, and those from the second index on, are searched.
    bounds: Vec<[usize; 2]>,
    /// If pairs are listed, the columns of each row to which the search is restricted.
    listed: Option<Vec<Vec<u32>>>,
    /// For each unit, whether it belongs to both groups. Pairs of such units are found twice.
    in_both: Vec<bool>,
    has_repetitions: bool,
}

impl Rule {
    pub(super) fn new(first: &Units, second: Option<&Units>, choice: Choice) -> Result<Self> {
        let is_one_group = second.is_none();
        let numbers = [&first.numbers, &second.unwrap_or(first).numbers].map(Clone::clone);
        let (positions, separation, pairs) = match choice {
            Choice::Apart { positions, separation } => (positions, separation, None),
            Choice::Listed { n_units, pairs } => ((0..n_units as i64).collect(), 1, Some(pairs)),
        };
        let n_units = positions.len();
        if numbers.iter().any(Vec::is_empty) {
            return Err(Error::mismatch("there are no pairs: a group has no residues"));
        }
        let is_ascending = |numbers: &Vec<u32>| numbers.windows(2).all(|pair| pair[0] < pair[1]);
        if !numbers.iter().all(is_ascending) || positions.windows(2).any(|pair| pair[0] >= pair[1]) {
            return Err(Error::mismatch("residues must be numbered in ascending order"));
        }
        if let Some(number) = numbers.iter().flatten().find(|&&number| number as usize >= n_units) {
            return Err(Error::mismatch(format!("there is no residue {number} of {n_units}")));
        }
        if separation < 1 {
            return Err(Error::mismatch(format!("residues are {separation} apart: expected 1 or more")));
        }
        let position = |number: &u32| positions[*number as usize];
        let bounds = numbers[0].iter().map(|number| {
            let (from, to) = (&numbers[1], position(number));
            let before = from.partition_point(|other| position(other) <= to - separation);
            let behind = from.partition_point(|other| position(other) < to + separation);
            // Within one group, each pair is searched from its first unit only.
            if is_one_group { [0, behind] } else { [before, behind] }
        });
        let bounds = bounds.collect();
        let listed = pairs.map(|pairs| listed(&numbers, &pairs)).transpose()?;
        let mut in_both = vec![false; n_units];
        if !is_one_group {
            for number in numbers[0].iter().filter(|number| numbers[1].binary_search(number).is_ok()) {
                in_both[*number as usize] = true;
            }
        }
        let has_repetitions = in_both.iter().filter(|&&is| is).count() > 1;
        Ok(Rule { n_units, numbers, bounds, listed, in_both, has_repetitions })
    }

    /// Returns the number of possible unit numbers.
    pub(super) fn n_units(&self) -> usize {
        self.n_units
    }

    /// Returns the columns that are searched for a row.
    pub(super) fn ranges(&self, row: usize) -> [Range<usize>; 2] {
        let [before, behind] = self.bounds[row];
        [0..before, behind..self.numbers[1].len()]
    }

    /// Returns whether a row and a column may be in contact.
    #[inline(always)]
    pub(super) fn allows(&self, row: usize, column: usize) -> bool {
        let [before, behind] = self.bounds[row];
        let is_listed = |listed: &Vec<Vec<u32>>| listed[row].binary_search(&(column as u32)).is_ok();
        (column < before || column >= behind) && self.listed.as_ref().is_none_or(is_listed)
    }

    /// Returns the unit numbers of a row and a column, in ascending order if both units belong to both groups.
    #[inline(always)]
    pub(super) fn pair(&self, row: usize, column: usize) -> [u32; 2] {
        let [row, column] = [self.numbers[0][row], self.numbers[1][column]];
        let is_swapped = row > column && self.in_both[row as usize] && self.in_both[column as usize];
        if is_swapped { [column, row] } else { [row, column] }
    }

    /// Returns whether a pair can be found twice.
    pub(super) fn has_repetitions(&self) -> bool {
        self.has_repetitions
    }
}

/// Returns the listed columns of each row, in ascending order.
fn listed(numbers: &[Vec<u32>; 2], pairs: &[[u32; 2]]) -> Result<Vec<Vec<u32>>> {
    let mut listed = vec![Vec::new(); numbers[0].len()];
    for &[from, to] in pairs {
        let (Ok(row), Ok(column)) = (numbers[0].binary_search(&from), numbers[1].binary_search(&to)) else {
            return Err(Error::mismatch(format!("the pair of residues {from} and {to} is in no group")));
        };
        listed[row].push(column as u32);
    }
    listed.iter_mut().for_each(|columns| columns.sort_unstable());
    Ok(listed)
}
