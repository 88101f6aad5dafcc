//! Records of events that occur any number of times in a frame.

use serde::{Deserialize, Serialize};

/// Records of a frame number and values, in the order of the frames. Frame numbers are exact up to 2^53.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Records {
    width: usize,
    values: Vec<f64>,
}

impl Records {
    /// Creates an empty list of records with `n_values` values each.
    pub(crate) fn new(n_values: usize) -> Self {
        Records { width: 1 + n_values, values: Vec::new() }
    }

    /// Returns the number of float64 values in a record: the frame number and the values.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Returns the number of records.
    pub fn len(&self) -> usize {
        self.values.len() / self.width
    }

    /// Returns whether there are no records.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Adds a record for a frame. `values` must have the length of every record.
    pub(crate) fn push(&mut self, frame: u64, values: &[f64]) {
        debug_assert_eq!(1 + values.len(), self.width);
        self.values.push(frame as f64);
        self.values.extend_from_slice(values);
    }

    /// Adds the records of the frames that follow.
    pub(crate) fn merge(&mut self, next: Self) {
        debug_assert_eq!(self.width, next.width);
        if self.values.is_empty() {
            self.values = next.values;
        } else {
            self.values.extend(next.values);
        }
    }

    /// Adds `first` to every frame number.
    pub(crate) fn renumber(&mut self, first: u64) {
        self.values.iter_mut().step_by(self.width).for_each(|frame| *frame += first as f64);
    }

    /// Returns all numbers, one record after another.
    pub fn into_values(self) -> Vec<f64> {
        self.values
    }
}
