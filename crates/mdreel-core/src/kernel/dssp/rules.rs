//! Residues, and the rules for their states.

/// The state of residues in a helix, whichever the method.
pub(super) const HELIX: u8 = 1;

/// Set of states, and the criterion for hydrogen bonds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Loop 0, helix 1, strand 2, or both 3, of all hydrogen bonds, as in PyDSSP: S. Minami,
    /// <https://github.com/ShintaroMinami/PyDSSP>.
    Simplified,
    /// Loop 0, α-helix 1, bridge 2, strand 3, 3₁₀-helix 4, π-helix 5, turn 6, bend 7, of the two strongest hydrogen
    /// bonds of each amide, as in the program of Kabsch and Sander.
    KabschSander,
}

impl Method {
    /// How many states residues are counted in: what is helix and strand is a helix.
    pub(crate) fn n_states(self) -> usize {
        match self {
            Method::Simplified => 3,
            Method::KabschSander => 8,
        }
    }

    /// The state that a residue is counted in.
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
    /// The residue has no amide hydrogen, as proline.
    Missing,
    /// Computed from the atoms around it; the first residue of a chain has none.
    Placed,
    /// An atom of the frame.
    Atom(u32),
}

/// A residue with its backbone.
#[derive(Debug, Clone, Copy)]
pub struct Residue {
    /// N, CA, C and O, among the atoms of a frame.
    pub backbone: [u32; 4],
    /// Its chain, whose residues are consecutive.
    pub chain: u32,
    /// Hydrogen of its amide.
    pub hydrogen: Hydrogen,
}

/// Further properties.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    /// Which states.
    pub method: Method,
    /// The longest bond from C to the next N, Å: a chain ends where there is a longer one. `None` for any length.
    pub longest_bond: Option<f64>,
    /// Whether to use the shortest image if frames have a cell.
    pub is_periodic: bool,
}
