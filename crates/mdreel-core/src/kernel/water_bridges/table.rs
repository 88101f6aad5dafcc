//! Tables of the hydrogen bonds of water bridges, and of pairs of consecutive bonds.

use serde::{Deserialize, Serialize};

use crate::reduce::{Own, Value};

/// The atoms of each bond, its distance (Å) and angle (degrees), and the pairs of consecutive bonds.
///
/// The atoms are those of the end nearer to the first group, followed by those of the other end. Each end consists of the index
/// of an atom and of its heavy atom ([`super::NO_ATOM`] for an acceptor). Pairs number the bonds of each frame from 0.
pub type BridgeBonds = (Vec<[u32; 4]>, Vec<[f64; 2]>, Vec<[u32; 2]>);

/// The bonds of a block of frames. The tables of blocks are merged in the order of the blocks.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct BridgeTable {
    atoms: Vec<[u32; 4]>,
    measures: Vec<[f64; 2]>,
    pairs: Vec<[u32; 2]>,
}

impl BridgeTable {
    /// Adds a bond of the current frame.
    pub(super) fn add_bond(&mut self, atoms: [u32; 4], measures: [f64; 2]) {
        self.atoms.push(atoms);
        self.measures.push(measures);
    }

    /// Adds a pair of consecutive bonds of the current frame.
    pub(super) fn add_pair(&mut self, pair: [u32; 2]) {
        self.pairs.push(pair);
    }

    /// Adds the table of the frames that follow.
    fn append(&mut self, next: BridgeTable) {
        if self.atoms.is_empty() {
            *self = next;
            return;
        }
        self.atoms.extend(next.atoms);
        self.measures.extend(next.measures);
        self.pairs.extend(next.pairs);
    }

    /// Takes the bonds of all frames, one frame after another.
    pub fn take(&mut self) -> BridgeBonds {
        let BridgeTable { atoms, measures, pairs } = std::mem::take(self);
        (atoms, measures, pairs)
    }
}

impl Value for BridgeTable {
    fn expect(&mut self, _n_frames: u64) {}

    fn merge(&mut self, mut next: Own) {
        match &mut next {
            Own::Nothing => {}
            Own::Bytes(bytes) => {
                self.append(postcard::from_bytes(bytes).expect("a table of bridges is what its computation wrote"));
            }
            Own::Here(_) => {
                let next = next.here::<BridgeTable>().expect("tables of bridges merge with their kind");
                self.append(std::mem::take(next));
            }
        }
    }

    fn to_bytes(&self) -> Vec<u8> {
        postcard::to_allocvec(self).expect("numbers can be written")
    }
}
