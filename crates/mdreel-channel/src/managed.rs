//! Managed directories: for programs that only write files, one for each frame or checkpoint.
//!
//! In a managed directory a file is seen under its name when it is whole, and never before: it is written under a hidden name, and
//! renamed when it is published. Who waits for a file gets it as soon as it is there, and is told when it will never come, as its
//! producer has ended or died. `docs/design/014-managed-directories.md` has the reasons. For Linux only.

mod alarm;
pub mod arrivals;
pub mod directory;
pub mod life;
pub(crate) mod names;
mod order;
mod part;
mod state;
#[cfg(test)]
mod tests;
pub mod waiting;
pub mod writer;
