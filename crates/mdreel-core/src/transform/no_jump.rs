//! Removal of jumps: an atom that leaves the cell on one side does not re-enter it on the other.

use super::{Mover, Transform, cell_of, difference, position, set_position, sum};
use crate::error::{Error, Result};
use crate::frame::FrameBatch;
use crate::periodic::Periodic;

/// The definition of an unwrapped path. Both schemes give the same path if the cell does not change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// The scheme tracks the cell that contains an atom, counted in cell vectors. In each frame, it chooses the image
    /// nearest to the previous position in fractional coordinates (Kulke and Vermaas, J. Chem. Theory Comput. 18 (2022)
    /// 6161, eq. B6). That equation rounds fractional coordinates, which gives the nearest image as long as no angle is
    /// far from 90 degrees.
    Lattice,
    /// The scheme tracks the displacement of an atom and adds up the shortest vectors from each frame to the next (von
    /// Bülow, Bullerjahn and Hummer, J. Chem. Phys. 153 (2020) 021101). If the cell fluctuates, an atom far from the
    /// origin does not fluctuate with it.
    Toroidal,
}

impl Scheme {
    /// Returns the scheme with the given name.
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
    /// The previous position: in fractional coordinates with all jumps removed (lattice scheme), or as stored (toroidal
    /// scheme).
    before: [f64; 3],
    /// The current position with all jumps removed, Å.
    now: [f64; 3],
}

impl Path {
    /// Creates a path that begins at the atom's position in the given cell.
    pub(crate) fn new(scheme: Scheme, cell: &Periodic, at: [f64; 3]) -> Self {
        match scheme {
            Scheme::Lattice => Path { before: cell.fractions(at), now: at },
            Scheme::Toroidal => Path { before: at, now: at },
        }
    }

    /// Continues the path to the atom's stored position in the next frame. Returns the position with all jumps removed.
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

/// A transformation that removes the jumps of all atoms across periodic boundaries, beginning with the first frame that
/// is read.
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
    /// The number of the last frame.
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
