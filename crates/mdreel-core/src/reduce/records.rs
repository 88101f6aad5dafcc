//! Records of events that occur any number of times in a frame.

use serde::{Deserialize, Serialize};

/// Records of frame number and values, in the order of the frames. Numbers of frames are exact up to 2^53.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Records {
    width: usize,
    values: Vec<f64>,
}

impl Records {
    /// No records, of `n_values` values each.
    pub(crate) fn new(n_values: usize) -> Self {
        Records { width: 1 + n_values, values: Vec::new() }
    }

    /// Numbers in a record: frame, and values.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.values.len() / self.width
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Adds a record of a frame, with the number of values of each record.
    pub(crate) fn push(&mut self, frame: u64, values: &[f64]) {
        debug_assert_eq!(1 + values.len(), self.width);
        self.values.push(frame as f64);
        self.values.extend_from_slice(values);
    }

    /// Adds those of the frames that follow.
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

    /// All numbers, record after record.
    pub fn into_values(self) -> Vec<f64> {
        self.values
    }
}
