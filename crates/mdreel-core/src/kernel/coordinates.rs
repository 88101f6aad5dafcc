//! Coordinates of single frames, to be kept.

use super::{Computation, not_finite};
use crate::error::Result;
use crate::frame::FrameBatch;
use crate::reduce::{Layout, Slots};

/// x, y and z of all atoms of each frame, float32: two to a column, bit for bit, so that they take no more room than in a batch.
/// As all are finite, no column is what float64 calls not a number, and travels as any other.
#[derive(Debug, Clone)]
pub struct Coordinates {
    n_atoms: usize,
}

impl Coordinates {
    /// Of `n_atoms` atoms.
    pub fn new(n_atoms: usize) -> Result<Self> {
        Ok(Coordinates { n_atoms })
    }
}

impl Computation for Coordinates {
    fn n_atoms(&self) -> usize {
        self.n_atoms
    }

    fn layout(&self) -> Layout {
        Layout::columns((3 * self.n_atoms).div_ceil(2))
    }

    fn another(&self) -> Box<dyn Computation> {
        Box::new(self.clone())
    }

    fn map(&mut self, batch: &FrameBatch, slots: &mut Slots<'_>) -> Result<()> {
        for i in 0..batch.len() {
            let columns = batch.columns(i);
            if ![columns.x, columns.y, columns.z].iter().all(|column| column.iter().all(|value| value.is_finite())) {
                return Err(not_finite(batch, i, "position"));
            }
            let mut values = columns.x.iter().zip(columns.y).zip(columns.z).flat_map(|((x, y), z)| [*x, *y, *z]);
            for pair in slots.row(i) {
                let mut bits = || u64::from(values.next().unwrap_or(0.0).to_bits());
                *pair = f64::from_bits(bits() | bits() << 32);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::kernel::fixture::{batch, mapped};

    proptest! {
        #[test]
        fn coordinates_keep_their_bits(frame in prop::collection::vec(prop::array::uniform3(-1e30f32..1e30), 1..20)) {
            let coordinates = Coordinates::new(frame.len()).unwrap();
            let rows = mapped(coordinates, &[batch(0, std::slice::from_ref(&frame), None)]).unwrap().rows.into_values();
            let halves = rows[2..].iter().flat_map(|pair| [pair.to_bits() as u32, (pair.to_bits() >> 32) as u32]);
            let found: Vec<f32> = halves.map(f32::from_bits).take(3 * frame.len()).collect();
            prop_assert_eq!(found, frame.concat());
        }
    }

    #[test]
    fn frame_without_finite_coordinates_is_named() {
        let frames = [vec![[0.0; 3]; 3], vec![[0.0; 3], [0.0, f32::INFINITY, 0.0], [0.0; 3]]];
        let message = mapped(Coordinates::new(3).unwrap(), &[batch(5, &frames, None)]).unwrap_err().to_string();
        assert!(message.contains("frame 6: atom 1 of the 3 selected"), "{message}");
    }
}
