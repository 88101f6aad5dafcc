//! Partial results and how they merge. Merging is associative and happens in block order, so that the bits of a
//! result do not depend on who computed what.

use std::mem::MaybeUninit;

use serde::{Deserialize, Serialize};

use crate::large_pages;

/// What a block of frames became.
pub trait Partial: Send {
    /// Number of frames in it.
    fn n_frames(&self) -> u64;

    /// Makes room for `n_frames` more frames, where the result grows with them.
    fn reserve(&mut self, _n_frames: u64) {}

    /// Adds the partial result of the frames that follow.
    fn merge(&mut self, next: Self);

    /// Adds `first` to every frame number: for blocks that did not know how many frames come before them.
    fn renumber(&mut self, first: u64);
}

/// A value for each frame, in rows of frame number, time (ps) and value, as results are shown: a long series stands in
/// memory once. Numbers of frames are exact up to 2^53.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    rows: Vec<[f64; 3]>,
}

impl Series {
    /// Adds the value of one frame.
    pub fn push(&mut self, frame: u64, time: f64, value: f64) {
        self.rows.push([frame as f64, time, value]);
    }

    /// Adds rows.
    pub fn extend(&mut self, rows: &[[f64; 3]]) {
        self.rows.extend_from_slice(rows);
    }

    /// Has the system give the memory that is reserved.
    pub fn touch(&mut self) {
        self.rows.spare_capacity_mut().fill(MaybeUninit::new([0.0; 3]));
    }

    /// Frame numbers.
    pub fn frames(&self) -> impl ExactSizeIterator<Item = u64> {
        self.rows.iter().map(|row| row[0] as u64)
    }

    /// Times in ps.
    pub fn times(&self) -> impl ExactSizeIterator<Item = f64> {
        self.rows.iter().map(|row| row[1])
    }

    /// The values.
    pub fn values(&self) -> impl ExactSizeIterator<Item = f64> {
        self.rows.iter().map(|row| row[2])
    }

    /// The rows.
    pub fn into_rows(self) -> Vec<[f64; 3]> {
        self.rows
    }
}

impl From<Vec<[f64; 3]>> for Series {
    fn from(rows: Vec<[f64; 3]>) -> Self {
        Series { rows }
    }
}

impl FromIterator<[f64; 3]> for Series {
    fn from_iter<I: IntoIterator<Item = [f64; 3]>>(rows: I) -> Self {
        Series { rows: rows.into_iter().collect() }
    }
}

impl Partial for Series {
    fn n_frames(&self) -> u64 {
        self.rows.len() as u64
    }

    fn reserve(&mut self, n_frames: u64) {
        self.rows.reserve(n_frames as usize);
        large_pages::ask_for(&mut self.rows);
    }

    fn merge(&mut self, next: Self) {
        self.rows.extend(next.rows);
    }

    fn renumber(&mut self, first: u64) {
        self.rows.iter_mut().for_each(|row| row[0] += first as f64);
    }
}
