//! Optimal superposition: the rigid motion that brings a frame closest to a reference, and the remaining distance.
//!
//! The largest eigenvalue of Horn's 4x4 key matrix gives the minimum RMSD (B. K. P. Horn, J. Opt. Soc. Am. A 4, 629,
//! 1987). It is the largest root of the characteristic polynomial of the matrix, found by Newton's method from above
//! (D. L. Theobald, Acta Cryst. A 61, 478, 2005; P. Liu, D. K. Agrafiotis, D. L. Theobald, J. Comput. Chem. 31, 1561,
//! 2010). If this loses digits (a nearly double root, or a distance near zero), the code computes the eigenvector and
//! sums the distance atom by atom.

mod eigen;
mod moments;
mod paired;
mod points;
mod quartic;
mod reference;
mod superposition;
#[cfg(test)]
mod tests;

pub(crate) use paired::{Motion, Points, superpose_pairs};
pub(crate) use points::WeightedPoints;
pub(crate) use reference::Reference;
pub(crate) use superposition::Superposition;
