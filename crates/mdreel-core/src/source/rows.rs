//! Memory of the caller that readers fill with frames.

use crate::frame::{Columns, FrameBatch, Quantities, Quantity};

/// Memory of the caller for consecutive frames.
pub trait Rows: Send {
    /// Writes a quantity of a frame to a row. `None` means that the frame lacks the quantity.
    fn write(&mut self, row: usize, quantity: Quantity, columns: Option<Columns<'_>>);

    /// Returns x, y and z of each selected atom in a row, if the row stores them one after the other as float32. All
    /// rows of a quantity give the same answer. A reader may fill them before it knows that the frame is whole.
    fn values(&mut self, row: usize, quantity: Quantity) -> Option<&mut [[f32; 3]]> {
        let _ = (row, quantity);
        None
    }
}

/// The rows of the frames that a reader reads next.
pub struct NextRows<'a> {
    rows: &'a mut dyn Rows,
    first: usize,
    wanted: Quantities,
}

impl<'a> NextRows<'a> {
    /// Returns the rows from the `first`-th on, for `wanted` quantities.
    pub fn new(rows: &'a mut dyn Rows, first: usize, wanted: Quantities) -> Self {
        NextRows { rows, first, wanted }
    }

    /// Returns the values of the `i`-th of these rows; see [`Rows::values`].
    pub(super) fn values(&mut self, i: usize, quantity: Quantity) -> Option<&mut [[f32; 3]]> {
        self.wanted.contains(quantity).then_some(())?;
        self.rows.values(self.first + i, quantity)
    }

    /// Writes the columns of all frames of `batch` to the rows.
    pub(super) fn write(&mut self, batch: &FrameBatch) {
        for i in 0..batch.len() {
            for quantity in self.wanted.iter() {
                self.rows.write(self.first + i, quantity, batch.columns_of(i, quantity));
            }
        }
    }

    /// Writes the columns of the frames of `batch` from the `first`-th on, except for the quantities whose values the
    /// reader has already written to the rows.
    pub(super) fn write_rest(&mut self, batch: &FrameBatch, first: usize) {
        for i in first..batch.len() {
            for quantity in self.wanted.iter() {
                let columns = batch.columns_of(i, quantity);
                if columns.is_none() || self.values(i, quantity).is_none() {
                    self.rows.write(self.first + i, quantity, columns);
                }
            }
        }
    }
}
