//! Backbone coordinates that determine hydrogen bonds and bends.

use super::rules::{Hydrogen, Method, Residue, Rules};
use crate::frame::Columns;
use crate::periodic::Periodic;

/// Distance at which PyDSSP places a hydrogen from its nitrogen, in Å.
const SIMPLIFIED_LENGTH: f64 = 1.01;
/// Distance at which Kabsch and Sander place a hydrogen from its nitrogen, in Å.
const KABSCH_SANDER_LENGTH: f64 = 1.0;

/// The N-H group of a residue.
#[derive(Debug, Clone, Copy)]
pub(super) struct Amide {
    /// The residue.
    pub residue: u32,
    /// The midpoint of N and H, in Å.
    pub middle: [f64; 3],
    /// The vector from the midpoint to H, in Å.
    pub half: [f64; 3],
}

/// The backbone of a frame. Each vector within a residue, or from a residue to the next one, is the shortest of its images.
#[derive(Debug, Default)]
pub(super) struct Backbone {
    /// The amides with a hydrogen, in the order of the residues.
    pub amides: Vec<Amide>,
    /// x, y and z of the midpoint of C=O of each residue, in Å.
    pub carbonyls: [Vec<f64>; 3],
    /// Vectors from these midpoints to O, in Å.
    pub carbonyl_halves: Vec<[f64; 3]>,
    /// The chain of each residue, in ascending order.
    pub chains: Vec<u32>,
    pub images: Option<Periodic>,
    alphas: Vec<[f64; 3]>,
}

/// Values of a residue that the next residue needs.
#[derive(Clone, Copy)]
struct Before {
    chain: u32,
    carbon: [f64; 3],
    carbonyl: [f64; 3],
}

impl Backbone {
    /// Reads the backbone from a frame, and returns whether all coordinates are finite.
    #[inline(always)]
    pub(crate) fn read(
        &mut self,
        residues: &[Residue],
        rules: &Rules,
        from: Columns<'_>,
        images: Option<Periodic>,
    ) -> bool {
        self.clear();
        self.images = images;
        let at = |atom: u32| [from.x, from.y, from.z].map(|column| f64::from(column[atom as usize]));
        let longest = rules.longest_bond.unwrap_or(f64::INFINITY);
        let (mut before, mut chain, mut is_finite): (Option<Before>, u32, bool) = (None, 0, true);
        for (number, residue) in (0..).zip(residues) {
            let [nitrogen, alpha, carbon, oxygen] = residue.backbone.map(at);
            let carbonyl = shortest(images, carbon, oxygen);
            let peptide = before
                .filter(|before| before.chain == residue.chain)
                .map(|before| (shortest(images, before.carbon, nitrogen), before.carbonyl))
                .filter(|(bond, _)| square(*bond) <= longest * longest);
            chain += u32::from(before.is_some() && peptide.is_none());
            let amide = match (residue.hydrogen, peptide) {
                (Hydrogen::Atom(hydrogen), _) => Some(shortest(images, nitrogen, at(hydrogen))),
                (Hydrogen::Placed, Some((bond, carbonyl))) => Some(match rules.method {
                    Method::Simplified => {
                        let (a, b) = (scaled(bond, 1.0), scaled(shortest(images, alpha, nitrogen), 1.0));
                        scaled(std::array::from_fn(|axis| a[axis] + b[axis]), SIMPLIFIED_LENGTH)
                    }
                    Method::KabschSander => scaled(carbonyl, -KABSCH_SANDER_LENGTH),
                }),
                _ => None,
            };
            if let Some(bond) = amide {
                let half = bond.map(|value| value / 2.0);
                let middle = std::array::from_fn(|axis| nitrogen[axis] + half[axis]);
                self.amides.push(Amide { residue: number, middle, half });
            }
            let half = carbonyl.map(|value| value / 2.0);
            for (axis, column) in self.carbonyls.iter_mut().enumerate() {
                column.push(carbon[axis] + half[axis]);
            }
            self.carbonyl_halves.push(half);
            self.chains.push(chain);
            self.alphas.push(alpha);
            let points = [nitrogen, alpha, carbon, oxygen, amide.unwrap_or_default()];
            is_finite &= points.as_flattened().iter().fold(true, |all, value| all & value.is_finite());
            before = Some(Before { chain: residue.chain, carbon, carbonyl });
        }
        is_finite
    }

    /// Returns the vector from the CA of a residue to the CA of another, in Å.
    #[inline(always)]
    pub(crate) fn between_alphas(&self, from: usize, to: usize) -> [f64; 3] {
        shortest(self.images, self.alphas[from], self.alphas[to])
    }

    fn clear(&mut self) {
        self.amides.clear();
        self.carbonyls.iter_mut().for_each(Vec::clear);
        self.carbonyl_halves.clear();
        self.chains.clear();
        self.alphas.clear();
    }
}

#[inline(always)]
fn shortest(images: Option<Periodic>, from: [f64; 3], to: [f64; 3]) -> [f64; 3] {
    let vector = std::array::from_fn(|axis| to[axis] - from[axis]);
    images.as_ref().map_or(vector, |cell| cell.shortest(vector))
}

/// Returns a vector of this length in the same direction, or zero if the vector is zero.
#[inline(always)]
fn scaled(vector: [f64; 3], length: f64) -> [f64; 3] {
    let square = square(vector);
    let factor = if square == 0.0 { 0.0 } else { length / square.sqrt() };
    vector.map(|value| value * factor)
}

#[inline(always)]
pub(super) fn square([x, y, z]: [f64; 3]) -> f64 {
    x * x + y * y + z * z
}
