//! RMSD between all pairs of frames, and what follows from it: trees of clusters, and the frames in their centres.

mod compare;
mod linkage;
mod matrix;
mod medoids;
mod triangle;

pub use linkage::{Linkage, Merge, linkage};
pub use matrix::distance_matrix;
pub use medoids::medoids;
