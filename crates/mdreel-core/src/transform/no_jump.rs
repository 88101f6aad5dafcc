//! Removal of jumps: an atom that leaves the cell on one side does not re-enter it on the other.

use super::{Mover, Transform, cell_of, difference, position, set_position, sum};
use crate::error::{Error, Result};
use crate::frame::FrameBatch;
use crate::periodic::Periodic;

/// What is kept from frame to frame. Where the cell does not change, both give the same path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// The cell that an atom is in, counted in vectors of the cell: that of the image nearest to its last place in
    /// fractions of the cell (Kulke and Vermaas, J. Chem. Theory Comput. 18 (2022) 6161, eq. B6, which rounds
    /// fractions: that is the nearest image while no angle is far from 90 degrees).
    Lattice,
    /// How far it goes: the shortest vectors from each frame to the next add up (von Bülow, Bullerjahn and Hummer,
    /// J. Chem. Phys. 153 (2020) 021101). Where the cell fluctuates, an atom that is far away does not with it.
    Toroidal,
}

impl Scheme {
    /// The choice of that name.
    pub fn from_name(name: &str) -> Result<Self> {
        match name {
            "lattice" => Ok(Scheme::Lattice),
            "toroidal" => Ok(Scheme::Toroidal),
            _ => Err(Error::unsupported(format!("unknown scheme {name:?}; known: lattice, toroidal"))),
        }
    }
}

/// The path of one atom through cells.
#[derive(Debug, Clone, Copy)]
pub struct Path {
    /// Where it was: in fractions of the cell, with its jumps undone; or as it was stored.
    before: [f64; 3],
    /// Its position, with all jumps undone, Å.
    now: [f64; 3],
}

impl Path {
    /// Begins where the atom is, in this cell.
    pub(crate) fn new(scheme: Scheme, cell: &Periodic, at: [f64; 3]) -> Self {
        match scheme {
            Scheme::Lattice => Path { before: cell.fractions(at), now: at },
            Scheme::Toroidal => Path { before: at, now: at },
        }
    }

    /// Goes on to where the atom is stored in the next frame. Returns where it is.
    pub(crate) fn follow(&mut self, scheme: Scheme, cell: &Periodic, at: [f64; 3]) -> [f64; 3] {
        match scheme {
            Scheme::Lattice => {
                let fractions = cell.fractions(at);
                let images = cell.nearest(difference(fractions, self.before));
                self.before = sum(fractions, images);
                self.now = sum(at, cell.vector(images));
            }
            Scheme::Toroidal => {
                self.now = sum(self.now, cell.shortest(difference(at, self.before)));
                self.before = at;
            }
        }
        self.now
    }
}

/// Undoes the jumps of all atoms across boundaries, from the first frame that is read on.
#[derive(Debug, Clone, Copy)]
pub struct NoJump(pub Scheme);

impl Transform for NoJump {
    fn named(&self) -> &[u32] {
        &[]
    }

    fn add_needed(&self, _atoms: &mut Vec<u32>) {}

    fn needs_order(&self) -> bool {
        true
    }

    fn mover(&self, _atoms: &[u32]) -> Box<dyn Mover> {
        Box::new(NoJumpMover { scheme: self.0, last: None, paths: Vec::new() })
    }
}

struct NoJumpMover {
    scheme: Scheme,
    /// The frame that was last seen.
    last: Option<u64>,
    paths: Vec<Path>,
}

impl Mover for NoJumpMover {
    fn apply(&mut self, batch: &mut FrameBatch) -> Result<()> {
        for i in 0..batch.len() {
            let (cell, frame) = (cell_of(batch, i, "to undo jumps")?, batch.header(i).index);
            if let Some(last) = self.last.filter(|last| *last >= frame) {
                let message = format!("it comes behind frame {last}: to undo jumps needs frames in order");
                return Err(Error::mismatch(message).at_frame(frame));
            }
            let is_first = self.last.replace(frame).is_none();
            let mut columns = batch.columns_mut(i);
            if is_first {
                let atoms = (0..columns.x.len()).map(|place| Path::new(self.scheme, &cell, position(&columns, place)));
                self.paths = atoms.collect();
                continue;
            }
            for (place, path) in self.paths.iter_mut().enumerate() {
                let now = path.follow(self.scheme, &cell, position(&columns, place));
                set_position(&mut columns, place, now);
            }
        }
        Ok(())
    }
}
