//! Rows: values of single frames.

use std::mem::MaybeUninit;

use serde::{Deserialize, Serialize};

use super::Partial;
use crate::frame::FrameHeader;
use crate::large_pages;

/// Values of each frame, in rows of frame number, time (ps) and values, as results are shown: a long series stands in
/// memory once. Numbers of frames are exact up to 2^53.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Rows {
    width: usize,
    values: Vec<f64>,
}

impl Rows {
    /// Numbers in front of the values of a row: frame and time.
    pub const HEAD: usize = 2;

    /// No rows, of `n_columns` values each.
    pub(crate) fn new(n_columns: usize) -> Self {
        Rows { width: Rows::HEAD + n_columns, values: Vec::new() }
    }

    /// Numbers in a row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.values.len() / self.width
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Adds the row of one frame, with one value per column.
    pub fn push(&mut self, frame: u64, time: f64, values: &[f64]) {
        debug_assert_eq!(Rows::HEAD + values.len(), self.width);
        self.values.extend([frame as f64, time]);
        self.values.extend_from_slice(values);
    }

    /// Adds a row for each frame and returns them, their values yet to be written.
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

    /// Has the system give the memory that is reserved.
    pub fn touch(&mut self) {
        self.values.spare_capacity_mut().fill(MaybeUninit::new(0.0));
    }

    /// Frame numbers.
    pub fn frames(&self) -> impl ExactSizeIterator<Item = u64> {
        self.rows().map(|row| row[0] as u64)
    }

    /// Times in ps.
    pub fn times(&self) -> impl ExactSizeIterator<Item = f64> {
        self.rows().map(|row| row[1])
    }

    /// The values of a column.
    pub fn column(&self, column: usize) -> impl ExactSizeIterator<Item = f64> {
        self.rows().map(move |row| row[Rows::HEAD + column])
    }

    /// All numbers, row after row.
    pub fn into_values(self) -> Vec<f64> {
        self.values
    }

    /// Takes the rows and leaves none.
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
