//! Images: whether the shortest of each vector count.

use crate::error::{Error, Result};
use crate::frame::FrameBatch;
use crate::periodic::Periodic;

/// Whether the shortest images of vectors count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shortest {
    /// Positions are taken as they are.
    Never,
    /// Where a frame has a periodic cell.
    WherePossible,
    /// In every frame: one without a periodic cell is an error.
    Always,
}

impl Shortest {
    /// The images that count in the i-th frame of a batch.
    pub fn of(self, batch: &FrameBatch, i: usize) -> Result<Option<Periodic>> {
        if self == Shortest::Never {
            return Ok(None);
        }
        let header = batch.header(i);
        let images = Periodic::new(header.unit_cell.as_ref());
        if images.is_none() && self == Shortest::Always {
            let message = format!("frame {} has no periodic cell: there are no shortest images", header.index);
            return Err(Error::Mismatch(message));
        }
        Ok(images)
    }
}

impl From<Option<bool>> for Shortest {
    /// Whether they are wanted; `None` where that is for the frames to say.
    fn from(wanted: Option<bool>) -> Self {
        match wanted {
            None => Shortest::WherePossible,
            Some(true) => Shortest::Always,
            Some(false) => Shortest::Never,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::fixture::batch;
    use crate::unit_cell::UnitCell;

    #[test]
    fn frame_without_a_cell_is_an_error_where_it_needs_one() {
        let cell = UnitCell::Dimensions([10.0, 10.0, 10.0, 90.0, 90.0, 90.0]);
        let of = |wanted: Option<bool>, cell| Shortest::from(wanted).of(&batch(7, &[vec![[0.0; 3]]], cell), 0);
        for (wanted, has_images) in [(None, true), (Some(true), true), (Some(false), false)] {
            assert_eq!(of(wanted, Some(cell)).unwrap().is_some(), has_images, "{wanted:?}");
        }
        assert!(of(None, None).unwrap().is_none() && of(Some(false), None).unwrap().is_none());
        let flat = UnitCell::Dimensions([10.0, 10.0, 0.0, 90.0, 90.0, 90.0]);
        for cell in [None, Some(flat)] {
            let message = of(Some(true), cell).unwrap_err().to_string();
            assert!(message.contains("frame 7 has no periodic cell"), "{message}");
        }
    }
}
