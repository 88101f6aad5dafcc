//! Clustering of frames by the minimum RMSD between them, without the matrix of all pairs; and steps of methods that
//! compare frames with a few centres (`centroids`, `distances`, `superposed`).
//!
//! Two frames are neighbours if their RMSD after superposition is at most a cutoff. `Scan` finds the neighbours of
//! frames. It rules pairs out with lower bounds from pivots (`pivots`), decides most of the others in single precision
//! with a margin for all rounding errors (`screen`), and computes the rest in double precision. The neighbours are
//! therefore exactly those that [`crate::pairs::distance_matrix`] gives. `docs/design/030-clusters-of-frames.md` has the
//! proofs.

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
