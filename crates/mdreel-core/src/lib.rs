//! Core library of mdreel: reads, maps and reduces frames of molecular dynamics trajectories.
//!
//! The data flow is `Source -> Frame -> Block -> Kernel -> Partial -> reduce -> results`. The modules below have these
//! names and import each other only in this order. The core works with atom indices and not with names, does not depend
//! on Python, and never prints.

pub mod block;
pub mod clustering;
pub mod convert;
pub mod error;
pub mod frame;
#[cfg(feature = "internals")]
pub mod internals;
pub mod kernel;
pub(crate) mod large_pages;
pub(crate) mod neighbours;
pub mod pairs;
pub mod part;
pub mod periodic;
pub mod plan;
pub mod pool;
pub mod read_into;
pub mod reduce;
pub mod run;
pub mod selection;
pub mod simd;
pub mod source;
pub mod span;
pub(crate) mod superpose;
pub(crate) mod symmetric;
pub mod transform;
pub mod unit_cell;
pub(crate) mod units;
pub mod writer;
mod xtc_tables;

pub use error::{Error, Result};
