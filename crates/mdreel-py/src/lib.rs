//! The Python face of mdreel-core.

use pyo3::prelude::*;

/// The core, as Python sees it.
#[pymodule]
mod _core {}
