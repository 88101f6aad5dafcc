//! Lists of atoms, one per frame.

use super::{Own, Value};

/// The atoms of all frames, one frame after another. The computation stores how many atoms belong to each frame.
#[derive(Debug, Default)]
pub struct Ids(pub Vec<u32>);

impl Value for Ids {
    fn expect(&mut self, _n_frames: u64) {}

    fn merge(&mut self, mut next: Own) {
        match &mut next {
            Own::Nothing => {}
            Own::Bytes(bytes) => self.0.extend(bytes.as_chunks::<4>().0.iter().map(|id| u32::from_le_bytes(*id))),
            Own::Here(_) => {
                let next = next.here::<Ids>().expect("ids merge with ids");
                if self.0.is_empty() {
                    std::mem::swap(&mut self.0, &mut next.0);
                } else {
                    self.0.extend_from_slice(&next.0);
                }
            }
        }
    }

    fn to_bytes(&self) -> Vec<u8> {
        self.0.iter().flat_map(|id| id.to_le_bytes()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_merge_in_order_wherever_they_come_from() {
        let mut whole = Own::Here(Box::new(Ids::default()));
        for ids in [vec![], vec![7, 1], vec![u32::MAX], vec![3, 4, 5]] {
            let next = Own::Here(Box::new(Ids(ids)));
            whole.merge(next.clone());
            whole.merge(next);
            whole.merge(Own::Nothing);
        }
        let expected = [7, 1, 7, 1, u32::MAX, u32::MAX, 3, 4, 5, 3, 4, 5];
        assert_eq!(whole.here::<Ids>().unwrap().0, expected);
    }
}
