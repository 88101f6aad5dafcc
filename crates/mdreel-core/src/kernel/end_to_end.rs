//! End-to-end vectors from the first to the last atom of each chain.

use std::sync::Arc;

use super::{Computation, not_finite};
use crate::error::{Error, Result};
use crate::frame::FrameBatch;
use crate::reduce::{Layout, Slots};

/// The vector of each chain from its first to its last atom (x, y, z), and the length of the vector, in Å.
#[derive(Debug, Clone)]
pub struct EndToEnd {
    n_atoms: usize,
    ends: Arc<Vec<[u32; 2]>>,
}

impl EndToEnd {
    /// Number of values per chain.
    pub(crate) const N_VALUES: usize = 4;

    /// Creates the computation for chains with these first and last atoms, among `n_atoms` atoms.
    pub fn new(n_atoms: usize, ends: Vec<[u32; 2]>) -> Result<Self> {
        if ends.is_empty() {
            return Err(Error::mismatch("there are no chains"));
        }
        if let Some(atom) = ends.iter().flatten().find(|&&atom| atom as usize >= n_atoms) {
            return Err(Error::mismatch(format!("a chain ends with atom {atom} of {n_atoms}")));
        }
        Ok(EndToEnd { n_atoms, ends: Arc::new(ends) })
    }
}

impl Computation for EndToEnd {
    fn n_atoms(&self) -> usize {
        self.n_atoms
    }

    fn layout(&self) -> Layout {
        Layout::columns(EndToEnd::N_VALUES * self.ends.len())
    }

    fn another(&self) -> Box<dyn Computation> {
        Box::new(self.clone())
    }

    fn map(&mut self, batch: &FrameBatch, slots: &mut Slots<'_>) -> Result<()> {
        for i in 0..batch.len() {
            let columns = batch.columns(i);
            let position = |atom: u32| [columns.x, columns.y, columns.z].map(|column| f64::from(column[atom as usize]));
            let values = slots.row(i).as_chunks_mut::<{ EndToEnd::N_VALUES }>().0;
            for (value, ends) in values.iter_mut().zip(self.ends.iter()) {
                let [first, last] = ends.map(position);
                let [x, y, z] = std::array::from_fn(|axis| last[axis] - first[axis]);
                *value = [x, y, z, (x * x + y * y + z * z).sqrt()];
                if !value[3].is_finite() {
                    return Err(not_finite(batch, i, "end-to-end distances"));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::fixture::{batch, mapped};

    #[test]
    fn vectors_go_from_first_to_last() {
        let frame = vec![[1.0, 1.0, 1.0], [4.0, 5.0, 1.0], [1.0, 3.0, 1.0]];
        let chains = EndToEnd::new(3, vec![[0, 1], [2, 0]]).unwrap();
        let values = mapped(chains, &[batch(0, &[frame], None)]).unwrap().rows.into_values().split_off(2);
        assert_eq!(values, [3.0, 4.0, 0.0, 5.0, 0.0, -2.0, 0.0, 2.0]);
    }

    #[test]
    fn what_has_no_ends_is_refused() {
        assert!(EndToEnd::new(3, vec![]).unwrap_err().to_string().contains("no chains"));
        assert!(EndToEnd::new(3, vec![[0, 3]]).unwrap_err().to_string().contains("atom 3 of 3"));
        let chains = EndToEnd::new(1, vec![[0, 0]]).unwrap();
        let message = mapped(chains, &[batch(0, &[vec![[f32::NAN; 3]]], None)]).unwrap_err().to_string();
        assert!(message.contains("frame 0: atom 0 of the 1 selected"), "{message}");
    }
}
