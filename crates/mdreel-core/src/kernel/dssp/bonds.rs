//! Hydrogen bonds of a backbone, based on their electrostatic energy.

use super::backbone::{Backbone, square};
use super::candidates::{Candidates, Limits};
use super::rules::Method;
use crate::frame::LANES;

/// Product of the charges of C=O and N-H (0.42 and 0.20 e) and Coulomb's constant (kcal Å / (mol e²)), for energies in
/// kcal/mol.
const COUPLING: f64 = 0.42 * 0.20 * 332.0;
/// Energy below which a bond exists, in kcal/mol.
const WEAKEST: f64 = -0.5;
/// Largest number of bonds of an amide in the program of Kabsch and Sander.
const MOST_BONDS: usize = 2;
/// Upper limit of the distance of the CA of two bonded residues in the program of Kabsch and Sander, in Å.
const ALPHAS: f64 = 9.0;
/// Largest distance of N and O in MDAnalysis's version of PyDSSP, in Å.
const NITROGEN_OXYGEN: f64 = 5.0;

/// The C=O groups to which each N-H is bonded.
#[derive(Debug, Default)]
pub(super) struct Bonds {
    /// For each residue, the index of its first acceptor, followed by the number of all acceptors.
    starts: Vec<u32>,
    acceptors: Vec<u32>,
    found: Vec<Bond>,
    candidates: Candidates,
}

#[derive(Debug, Clone, Copy)]
struct Bond {
    donor: u32,
    acceptor: u32,
    energy: f64,
}

impl Bonds {
    /// Finds the bonds of a backbone, and returns whether all coordinates are finite.
    #[inline(always)]
    pub(crate) fn find(&mut self, backbone: &Backbone, method: Method) -> bool {
        let amide = longest(backbone.amides.iter().map(|amide| &amide.half));
        let reach = reach(amide, longest(backbone.carbonyl_halves.iter()));
        // The amide of a residue is covalently linked to the carbonyls next to it, so these pairs do not count.
        let nearest = if method == Method::Simplified { 2 } else { 1 };
        if !self.candidates.find(backbone, Limits { reach, nearest }) {
            return false;
        }
        self.found.clear();
        self.measure(backbone, method);
        self.keep(backbone.chains.len(), method);
        true
    }

    /// Computes the energies of candidates, eight at a time.
    #[inline(always)]
    fn measure(&mut self, backbone: &Backbone, method: Method) {
        for candidates in self.candidates.found.chunks(LANES) {
            // Squares of the distances O-N, C-H, O-H and C-N.
            let mut squares = [[1.0; LANES]; 4];
            for (lane, candidate) in candidates.iter().enumerate() {
                let amide = backbone.amides[candidate.amide as usize].half;
                let carbonyl = backbone.carbonyl_halves[candidate.acceptor as usize];
                let square_of = |[to_oxygen, to_hydrogen]: [f64; 2]| {
                    square(std::array::from_fn(|axis| {
                        candidate.vector[axis] + to_oxygen * carbonyl[axis] - to_hydrogen * amide[axis]
                    }))
                };
                for (squares, ends) in squares.iter_mut().zip([[1.0, -1.0], [-1.0, 1.0], [1.0, 1.0], [-1.0, -1.0]]) {
                    squares[lane] = square_of(ends);
                }
            }
            let mut energies = [0.0; LANES];
            for (lane, energy) in energies.iter_mut().enumerate() {
                let [on, ch, oh, cn] = [0, 1, 2, 3].map(|k| 1.0 / f64::sqrt(squares[k][lane]));
                *energy = COUPLING * (on + ch - oh - cn);
            }
            for (lane, candidate) in candidates.iter().enumerate() {
                let (donor, acceptor) = (backbone.amides[candidate.amide as usize].residue, candidate.acceptor);
                let is_near = || match method {
                    Method::Simplified => squares[0][lane] <= NITROGEN_OXYGEN * NITROGEN_OXYGEN,
                    Method::KabschSander => {
                        square(backbone.between_alphas(donor as usize, acceptor as usize)) < ALPHAS * ALPHAS
                    }
                };
                if energies[lane] < WEAKEST && is_near() {
                    self.found.push(Bond { donor, acceptor, energy: energies[lane] });
                }
            }
        }
    }

    /// Stores the bonds of each donor. With Kabsch and Sander's method, only the strongest bonds of a donor count.
    fn keep(&mut self, n_residues: usize, method: Method) {
        self.starts.clear();
        self.acceptors.clear();
        let mut left = &mut self.found[..];
        for donor in 0..n_residues as u32 {
            self.starts.push(self.acceptors.len() as u32);
            let n = left.iter().take_while(|bond| bond.donor == donor).count();
            let (bonds, others) = left.split_at_mut(n);
            let n_kept = if method == Method::KabschSander { n.min(MOST_BONDS) } else { n };
            if n_kept < n {
                bonds.sort_unstable_by(|a, b| a.energy.total_cmp(&b.energy));
            }
            self.acceptors.extend(bonds[..n_kept].iter().map(|bond| bond.acceptor));
            left = others;
        }
        self.starts.push(self.acceptors.len() as u32);
    }

    /// Returns whether the N-H of a residue is bonded to the C=O of another.
    pub(crate) fn has(&self, donor: usize, acceptor: usize) -> bool {
        self.of(donor).contains(&(acceptor as u32))
    }

    /// Returns all bonds as donor and acceptor, in the order of the donors.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, usize)> {
        let n_residues = self.starts.len() - 1;
        (0..n_residues).flat_map(|donor| self.of(donor).iter().map(move |&acceptor| (donor, acceptor as usize)))
    }

    fn of(&self, donor: usize) -> &[u32] {
        match self.starts.get(donor..donor + 2) {
            Some(ends) => &self.acceptors[ends[0] as usize..ends[1] as usize],
            None => &[],
        }
    }

    /// Creates the bonds from a list, for tests.
    #[cfg(test)]
    pub(crate) fn from_pairs(n_residues: usize, pairs: &[(usize, usize)]) -> Self {
        let mut bonds = Bonds::default();
        let bond =
            |&(donor, acceptor): &(usize, usize)| Bond { donor: donor as u32, acceptor: acceptor as u32, energy: -1.0 };
        bonds.found.extend(pairs.iter().map(bond));
        bonds.found.sort_unstable_by_key(|bond| (bond.donor, bond.acceptor));
        bonds.keep(n_residues, Method::Simplified);
        bonds
    }
}

/// Returns the length of the longest vector, in Å.
#[inline(always)]
fn longest<'a>(vectors: impl Iterator<Item = &'a [f64; 3]>) -> f64 {
    vectors.map(|vector| square(*vector)).fold(0.0, f64::max).sqrt()
}

/// Returns the largest distance between the midpoints of N-H and C=O at which a bond is possible, in Å. The arguments are the
/// largest distances of the atoms from these midpoints (Å).
///
/// Consider two dipoles with midpoints at a distance m and halves of lengths a and b. Their energy is lowest if both are on one
/// line, because every term of the multipole expansion of the energy is lowest there. With the coupling k, s = a + b and
/// t = a - b, it is then -8 k a b m / ((m² - s²) (m² - t²)). A bond therefore requires (m² - s²)² <= p m with
/// p = 8 k a b / 0.5. The largest solution is a fixed point, which the iteration approaches from above.
fn reach(amide: f64, carbonyl: f64) -> f64 {
    let sum = amide + carbonyl;
    let product = 8.0 * COUPLING / -WEAKEST * amide * carbonyl;
    let above = 2.0 * sum + 1.25 * product.cbrt();
    (0..4).fold(above, |reach, _| (sum * sum + (product * reach).sqrt()).sqrt())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_bond_is_out_of_reach(
            ends in prop::array::uniform3(prop::array::uniform3(-1f64..1.0)),
            lengths in prop::array::uniform2(0.1f64..2.0),
            farther in 1.0f64..1.5,
        ) {
            let [direction, amide, carbonyl] = ends.map(|end| end.map(|value| value / (square(end).sqrt() + 1e-9)));
            let reach = reach(lengths[0], lengths[1]);
            let energy = |to_hydrogen: [f64; 3], to_oxygen: [f64; 3]| {
                let inverse = |h: f64, o: f64| {
                    let vector = std::array::from_fn(|axis| {
                        farther * reach * direction[axis] + o * lengths[1] * to_oxygen[axis] - h * lengths[0] * to_hydrogen[axis]
                    });
                    1.0 / square(vector).sqrt()
                };
                COUPLING * (inverse(-1.0, 1.0) + inverse(1.0, -1.0) - inverse(1.0, 1.0) - inverse(-1.0, -1.0))
            };
            prop_assert!(energy(amide, carbonyl) > WEAKEST);
            // The energy is lowest if both dipoles are on one line.
            let away = direction.map(|value| -value);
            prop_assert!(energy(direction, away) <= energy(amide, carbonyl) + 1e-9);
        }
    }

    #[test]
    fn reach_of_a_peptide_is_no_longer_than_it_must_be() {
        assert!((5.2..5.4).contains(&reach(0.5, 0.62)), "{}", reach(0.5, 0.62));
        assert_eq!(reach(0.0, 0.5), 0.5);
    }
}
