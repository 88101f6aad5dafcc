//! Managed directories, for programs that only write files, one per frame or checkpoint.
//!
//! In a managed directory, a file gets its final name only when it is complete: the producer writes it under a hidden name, and
//! renames it to publish it. A reader that waits for a file receives it as soon as it is published. It gets an error if the file
//! will never come because the producer has ended or died. `docs/design/014-managed-directories.md` gives the reasons. This
//! module supports Linux only.

mod alarm;
pub mod arrivals;
pub mod directory;
pub mod life;
pub(crate) mod names;
mod order;
mod part;
mod shared;
mod state;
#[cfg(test)]
mod tests;
pub mod waiting;
pub mod writer;
