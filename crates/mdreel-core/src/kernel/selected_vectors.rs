//! Vectors from selected atoms to other atoms, such as the hydrogens of water molecules.

use std::sync::Arc;

use super::group::Group;
use super::images::Shortest;
use super::{Computation, not_finite};
use crate::error::{Error, Result};
use crate::frame::FrameBatch;
use crate::reduce::{Ids, Layout, Slots, Value};

/// Number of vectors per atom.
const N_VECTORS: usize = 2;

/// Computation that counts the atoms of a group in each frame and lists their vectors to other atoms.
///
/// The list contains the number of each atom in the group, followed by its vectors to two other atoms (Å) as the bits of six
/// float32. If a frame has a cell, the vectors are those to the shortest images.
#[derive(Debug, Clone)]
pub struct SelectedVectors {
    n_atoms: usize,
    group: Group,
    others: Arc<Vec<[u32; N_VECTORS]>>,
}

impl SelectedVectors {
    /// Number of values that are listed for an atom.
    pub const WIDTH: usize = 1 + 3 * N_VECTORS;

    /// Creates the computation for frames of `n_atoms` atoms, with two `others` for each atom of the group. Returns an error if
    /// an atom does not exist, or if the lengths of `group` and `others` differ.
    pub fn new(n_atoms: usize, group: Group, others: Vec<[u32; N_VECTORS]>) -> Result<Self> {
        if group.len() != others.len() {
            let message = format!("a group of {} atoms has {} pairs of others", group.len(), others.len());
            return Err(Error::mismatch(message));
        }
        let mut atoms = group.places().iter().chain(others.iter().flatten());
        if let Some(atom) = atoms.find(|&&atom| atom as usize >= n_atoms) {
            return Err(Error::mismatch(format!("a vector needs atom {atom} of {n_atoms}")));
        }
        Ok(SelectedVectors { n_atoms, group, others: Arc::new(others) })
    }
}

impl Computation for SelectedVectors {
    fn n_atoms(&self) -> usize {
        self.n_atoms
    }

    fn layout(&self) -> Layout {
        Layout::columns(1)
    }

    fn own(&self) -> Option<Box<dyn Value>> {
        Some(Box::new(Ids::default()))
    }

    fn another(&self) -> Box<dyn Computation> {
        Box::new(self.clone())
    }

    fn map(&mut self, batch: &FrameBatch, slots: &mut Slots<'_>) -> Result<()> {
        let places = Arc::clone(self.group.places());
        for i in 0..batch.len() {
            let images = Shortest::WherePossible.of(batch, i)?;
            let columns = batch.columns(i);
            let position = |atom: u32| [columns.x, columns.y, columns.z].map(|column| f64::from(column[atom as usize]));
            let numbers = self.group.numbers(batch, i)?;
            slots.row(i)[0] = numbers.len() as f64;
            let ids = slots.own.as_mut().and_then(|own| own.here::<Ids>());
            let Ids(found) = ids.ok_or_else(|| Error::worker("a selection has no room for its vectors"))?;
            for &number in numbers.iter() {
                let from = position(places[number as usize]);
                found.push(number);
                for other in self.others[number as usize].map(position) {
                    let vector = std::array::from_fn(|k| other[k] - from[k]);
                    let vector = images.as_ref().map_or(vector, |images| images.shortest(vector));
                    if vector.iter().any(|value| !value.is_finite()) {
                        return Err(not_finite(batch, i, "vectors"));
                    }
                    found.extend(vector.map(|value| (value as f32).to_bits()));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::fixture::{batch, mapped, right_of_origin, those_right_of_origin};
    use crate::unit_cell::UnitCell;

    fn frames() -> Vec<Vec<[f32; 3]>> {
        (0..4u8)
            .map(|t| (0..9u8).map(|i| [f32::from(i * 7 % 5) - f32::from(t), f32::from(i), f32::from(t * i)]).collect())
            .collect()
    }

    #[test]
    fn vectors_of_selected_atoms_are_listed_frame_by_frame() {
        let (frames, oxygens) = (frames(), [0u32, 3, 6]);
        let others: Vec<[u32; 2]> = oxygens.iter().map(|&atom| [atom + 1, atom + 2]).collect();
        let made = || SelectedVectors::new(9, right_of_origin(9, &oxygens), others.clone()).unwrap();
        let mut expected = Vec::new();
        let mut counts = Vec::new();
        for frame in &frames {
            let selected = those_right_of_origin(frame, &oxygens);
            counts.push(selected.len() as f64);
            for atom in selected {
                let number = oxygens.iter().position(|&one| one == atom).unwrap();
                expected.push(number as u32);
                for other in others[number] {
                    let [from, to] = [frame[atom as usize], frame[other as usize]];
                    expected.extend((0..3).map(|k| (to[k] - from[k]).to_bits()));
                }
            }
        }
        assert!(counts.iter().any(|count| *count > 0.0) && counts.iter().any(|count| *count < 3.0));
        let mut whole = mapped(made(), &[batch(0, &frames, None)]).unwrap();
        assert_eq!(whole.own[0].here::<Ids>().unwrap().0, expected);
        let mut parts = mapped(made(), &[batch(0, &frames[..1], None), batch(1, &frames[1..], None)]).unwrap();
        assert_eq!(parts.own[0].here::<Ids>().unwrap().0, expected);
        assert_eq!(whole.rows.column(0).collect::<Vec<f64>>(), counts);
    }

    #[test]
    fn vectors_are_those_of_the_shortest_images() {
        let cell = UnitCell::Dimensions([10.0, 10.0, 10.0, 90.0, 90.0, 90.0]);
        let frame = vec![[9.5, 1.0, 1.0], [0.5, 1.0, 1.0], [9.0, 9.5, 1.0]];
        let vectors = SelectedVectors::new(3, vec![0].into(), vec![[1, 2]]).unwrap();
        let mut found = mapped(vectors, &[batch(0, &[frame], Some(cell))]).unwrap();
        let bits: Vec<f32> =
            found.own[0].here::<Ids>().unwrap().0[1..].iter().map(|bits| f32::from_bits(*bits)).collect();
        for (one, other) in bits.iter().zip([1.0, 0.0, 0.0, -0.5, -1.5, 0.0]) {
            assert!((one - other).abs() < 1e-6, "{bits:?}");
        }
    }

    #[test]
    fn groups_that_do_not_fit_are_refused() {
        let message = |group: Vec<u32>, others: Vec<[u32; 2]>| {
            SelectedVectors::new(3, group.into(), others).unwrap_err().to_string()
        };
        assert!(message(vec![0, 1], vec![[1, 2]]).contains("a group of 2 atoms has 1 pairs of others"));
        assert!(message(vec![3], vec![[1, 2]]).contains("atom 3 of 3"));
        assert!(message(vec![0], vec![[1, 9]]).contains("atom 9 of 3"));
        let vectors = SelectedVectors::new(3, vec![0].into(), vec![[1, 2]]).unwrap();
        let frame = vec![[0.0; 3], [0.0; 3], [f32::NAN; 3]];
        let error = mapped(vectors, &[batch(5, &[frame], None)]).unwrap_err().to_string();
        assert!(error.contains("frame 5: atom 2 of the 3 selected"), "{error}");
    }
}
