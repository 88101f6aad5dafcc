//! Tallies: the results of all computations of a pass.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::{Own, Partial, Records, Rows, Sum};

/// The number of values that a computation produces.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Layout {
    /// Number of values per frame.
    pub n_columns: usize,
    /// Number of sums over all frames.
    pub n_sums: usize,
    /// Number of counts over all frames.
    pub n_counts: usize,
    /// Number of values in each record, or `None` if the computation produces no records.
    pub record: Option<usize>,
}

impl Layout {
    /// Creates the layout of a computation that produces only values per frame.
    pub fn columns(n_columns: usize) -> Self {
        Layout { n_columns, ..Layout::default() }
    }
}

/// Values per frame, sums and counts over all frames, records of events that occur any number of times in a frame, and
/// values that only computations can interpret.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Tally {
    /// Values per frame, with the columns of all computations side by side.
    pub rows: Rows,
    /// Sums of all computations, one computation after another.
    pub sums: Vec<Sum>,
    /// Counts of all computations, in the same order.
    pub counts: Vec<u64>,
    /// Records of each computation that produces records.
    pub records: Vec<Records>,
    /// Values that only computations can interpret, one for each computation with such a value.
    pub own: Vec<Own>,
}

impl Tally {
    /// Creates an empty tally for computations with the given layouts.
    pub(crate) fn new(layouts: &[Layout]) -> Self {
        let total = |of: fn(&Layout) -> usize| layouts.iter().map(of).sum();
        Tally {
            rows: Rows::new(total(|layout| layout.n_columns)),
            sums: vec![Sum::default(); total(|layout| layout.n_sums)],
            counts: vec![0; total(|layout| layout.n_counts)],
            records: layouts.iter().filter_map(|layout| layout.record).map(Records::new).collect(),
            own: Vec::new(),
        }
    }

    /// Returns an empty tally with the same layout.
    #[must_use]
    pub fn of_no_frames(&self) -> Self {
        Tally {
            rows: Rows::new(self.rows.width() - Rows::HEAD),
            sums: vec![Sum::default(); self.sums.len()],
            counts: vec![0; self.counts.len()],
            records: self.records.iter().map(|records| Records::new(records.width() - 1)).collect(),
            own: self.own.iter().map(|_| Own::Nothing).collect(),
        }
    }
}

impl Partial for Tally {
    fn n_frames(&self) -> u64 {
        self.rows.n_frames()
    }

    fn reserve(&mut self, n_frames: u64) {
        self.rows.reserve(n_frames);
        self.own.iter_mut().for_each(|own| own.expect(n_frames));
    }

    fn begin(&mut self) {
        self.own.iter_mut().for_each(Own::begin);
    }

    fn merge(&mut self, next: Self) {
        self.rows.merge(next.rows);
        self.sums.iter_mut().zip(next.sums).for_each(|(sum, other)| *sum += other);
        self.counts.iter_mut().zip(next.counts).for_each(|(count, other)| *count += other);
        self.records.iter_mut().zip(next.records).for_each(|(records, other)| records.merge(other));
        self.own.iter_mut().zip(next.own).for_each(|(own, other)| own.merge(other));
    }

    fn renumber(&mut self, first: u64) {
        self.rows.renumber(first);
        self.records.iter_mut().for_each(|records| records.renumber(first));
    }
}

/// The output of a computation for a batch of frames.
#[derive(Debug)]
pub struct Slots<'a> {
    rows: &'a mut [f64],
    width: usize,
    columns: Range<usize>,
    /// The sums of the computation so far.
    pub sums: &'a mut [Sum],
    /// The counts of the computation so far.
    pub counts: &'a mut [u64],
    /// The records of the computation so far.
    pub records: &'a mut [Records],
    /// The computation's value so far, if it produces one.
    pub own: Option<&'a mut Own>,
}

impl<'a> Slots<'a> {
    /// Creates slots from complete rows of `width` numbers, in which the given columns belong to the computation.
    pub(crate) fn new(rows: &'a mut [f64], width: usize, columns: Range<usize>) -> Self {
        let columns = Rows::HEAD + columns.start..Rows::HEAD + columns.end;
        Slots { rows, width, columns, sums: &mut [], counts: &mut [], records: &mut [], own: None }
    }

    /// Returns the computation's values of the `i`-th frame of the batch.
    pub fn row(&mut self, i: usize) -> &mut [f64] {
        &mut self.rows[i * self.width..][self.columns.clone()]
    }

    /// Adds a record for a frame.
    pub(crate) fn record(&mut self, frame: u64, values: &[f64]) {
        self.records[0].push(frame, values);
    }
}
