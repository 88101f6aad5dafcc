//! RMSD.
