//! Clustering of frames by the minimum RMSD between them, without the matrix of all pairs. The modules `centroids`,
//! `distances` and `superposed` contain steps of methods that compare frames with a few centres.
//!
//! Two frames are neighbours if their RMSD after superposition is at most a cutoff. `Scan` finds the neighbours of
//! frames. It rules out pairs with lower bounds from pivots (`pivots`). It decides most of the other pairs in single
//! precision, with a margin for all rounding errors (`screen`), and computes the rest in double precision. The
//! neighbours are therefore exactly those that follow from [`crate::pairs::distance_matrix`].
//! `docs/design/030-clusters-of-frames.md` contains the proofs.

mod centroids;
mod density;
mod distances;
mod frames;
mod gromos;
mod groups;
mod lanes;
mod lists;
mod pivots;
mod scan;
mod screen;
mod superposed;
#[cfg(test)]
mod tests;

pub use centroids::{Assignment, Number, nearest_centres};
pub use density::{NOISE, dbscan};
pub use distances::frame_distances;
pub use gromos::{Clusters, gromos};
pub use superposed::superposed_rows;
