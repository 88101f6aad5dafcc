//! Residues, and the rules for their states.

/// The state of residues in a helix, with either method.
pub(super) const HELIX: u8 = 1;

/// The set of states and the criterion for hydrogen bonds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Loop 0, helix 1, strand 2, or both 3, from all hydrogen bonds, as in PyDSSP: S. Minami,
    /// <https://github.com/ShintaroMinami/PyDSSP>.
    Simplified,
    /// Loop 0, α-helix 1, bridge 2, strand 3, 3₁₀-helix 4, π-helix 5, turn 6, bend 7, from the two strongest hydrogen bonds of
    /// each amide, as in the program of Kabsch and Sander.
    KabschSander,
}

impl Method {
    /// Returns the number of states in which residues are counted. A residue that is in a helix and a strand counts as a helix.
    pub(crate) fn n_states(self) -> usize {
        match self {
            Method::Simplified => 3,
            Method::KabschSander => 8,
        }
    }

    /// Returns the state in which a residue is counted.
    pub(super) fn counted(self, state: u8) -> usize {
        match self {
            Method::Simplified if state & HELIX != 0 => HELIX.into(),
            _ => state.into(),
        }
    }
}

/// Position of the hydrogen of an amide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hydrogen {
    /// The residue has no amide hydrogen, like proline.
    Missing,
    /// The position is computed from the surrounding atoms. The first residue of a chain has no hydrogen.
    Placed,
    /// The position is that of an atom of the frame.
    Atom(u32),
}

/// A residue with its backbone.
#[derive(Debug, Clone, Copy)]
pub struct Residue {
    /// Indices of N, CA, C and O in a frame.
    pub backbone: [u32; 4],
    /// The chain of the residue. The residues of a chain are consecutive.
    pub chain: u32,
    /// The hydrogen of the amide.
    pub hydrogen: Hydrogen,
}

/// Settings of the assignment.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    /// The method, which determines the states.
    pub method: Method,
    /// The longest bond from C to the next N, in Å; `None` for any length. A chain ends where the bond is longer.
    pub longest_bond: Option<f64>,
    /// Whether to use the shortest image if frames have a cell.
    pub is_periodic: bool,
}
