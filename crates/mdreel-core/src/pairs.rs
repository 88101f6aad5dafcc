//! RMSD between all pairs of frames, and analyses of these distances: trees of clusters and medoids.

mod compare;
mod linkage;
mod matrix;
mod medoids;
mod triangle;

pub use linkage::{Linkage, Merge, linkage};
pub use matrix::distance_matrix;
pub use medoids::medoids;
