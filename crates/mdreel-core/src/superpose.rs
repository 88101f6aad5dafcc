//! Optimal superposition.
