//! Rows: one row of values per frame.

use std::mem::MaybeUninit;

use serde::{Deserialize, Serialize};

use super::Partial;
use crate::frame::FrameHeader;
use crate::large_pages;

/// Rows of frame number, time (ps) and values, in the layout of the results. A long series therefore needs memory only
/// once. Frame numbers are exact up to 2^53.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rows {
    width: usize,
    values: Vec<f64>,
}

impl Rows {
    /// Number of entries before the values of a row: frame and time.
    pub const HEAD: usize = 2;

    /// Creates an empty table with `n_columns` values per row.
    pub(crate) fn new(n_columns: usize) -> Self {
        Rows { width: Rows::HEAD + n_columns, values: Vec::new() }
    }

    /// Returns the number of float64 values in a row, with frame and time.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.values.len() / self.width
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Adds the row of one frame, with one value per column.
    pub fn push(&mut self, frame: u64, time: f64, values: &[f64]) {
        debug_assert_eq!(Rows::HEAD + values.len(), self.width);
        self.values.extend([frame as f64, time]);
        self.values.extend_from_slice(values);
    }

    /// Adds a row for each frame and returns the new rows. The caller must fill in their values.
    pub(crate) fn add(&mut self, headers: &[FrameHeader]) -> &mut [f64] {
        let before = self.values.len();
        self.values.resize(before + headers.len() * self.width, 0.0);
        let added = &mut self.values[before..];
        for (row, header) in added.chunks_exact_mut(self.width).zip(headers) {
            (row[0], row[1]) = (header.index as f64, header.time);
        }
        added
    }

    /// Adds complete rows, one after another.
    pub fn extend(&mut self, rows: &[f64]) {
        debug_assert_eq!(rows.len() % self.width, 0);
        self.values.extend_from_slice(rows);
    }

    /// Writes to the reserved memory, so that the system allocates its pages now.
    pub fn touch(&mut self) {
        self.values.spare_capacity_mut().fill(MaybeUninit::new(0.0));
    }

    /// Returns the frame numbers.
    pub fn frames(&self) -> impl ExactSizeIterator<Item = u64> {
        self.rows().map(|row| row[0] as u64)
    }

    /// Returns the times in ps.
    pub fn times(&self) -> impl ExactSizeIterator<Item = f64> {
        self.rows().map(|row| row[1])
    }

    /// Returns the values of a column.
    pub fn column(&self, column: usize) -> impl ExactSizeIterator<Item = f64> {
        self.rows().map(move |row| row[Rows::HEAD + column])
    }

    /// Returns all numbers, one row after another.
    pub fn into_values(self) -> Vec<f64> {
        self.values
    }

    /// Takes all rows and leaves the table empty.
    #[must_use]
    pub fn take(&mut self) -> Self {
        Rows { width: self.width, values: std::mem::take(&mut self.values) }
    }

    fn rows(&self) -> impl ExactSizeIterator<Item = &[f64]> {
        self.values.chunks_exact(self.width)
    }
}

impl Partial for Rows {
    fn n_frames(&self) -> u64 {
        self.len() as u64
    }

    fn reserve(&mut self, n_frames: u64) {
        self.values.reserve(n_frames as usize * self.width);
        large_pages::ask_for(&mut self.values);
    }

    fn merge(&mut self, next: Self) {
        self.values.extend(next.values);
    }

    fn renumber(&mut self, first: u64) {
        self.values.iter_mut().step_by(self.width).for_each(|frame| *frame += first as f64);
    }
}
