//! Chains of sources that were opened in different ways.

use std::path::PathBuf;

use mdreel_core::source::open::{Options, chain};
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::error::to_python;
use crate::origin::Origin;
use crate::source::Source;

/// Join sources of the same atoms to one; the paths name their files in errors. A source may be a chain of several files. `workers` returns a function and its arguments, which
/// make the same chain in another process; `facts` are those of `describe`, if they are known.
#[pyfunction]
#[pyo3(signature = (paths, sources, overlaps, recipe, workers=None, facts=None))]
pub(crate) fn chain_sources<'py>(
    py: Python<'py>,
    paths: Vec<PathBuf>,
    sources: Vec<PyRef<'py, Source>>,
    overlaps: &str,
    recipe: (Py<PyAny>, Py<PyAny>),
    workers: Option<Py<PyAny>>,
    facts: Option<Bound<'py, PyList>>,
) -> PyResult<Source> {
    let options = Options::from_names(None, "auto", "none", overlaps).map_err(|error| to_python(py, error))?;
    let facts = match facts {
        Some(facts) => facts,
        None => {
            let facts = PyList::empty(py);
            for source in &sources {
                source.describe(py)?.into_iter().try_for_each(|part| facts.append(part))?;
            }
            facts
        }
    };
    let segments = sources.iter().flat_map(|source| source.opened().parts().iter().cloned());
    let parts = paths.into_iter().zip(segments).collect();
    let opened = chain(parts, options.overlaps).map_err(|error| to_python(py, error))?;
    Ok(Source::described(opened, Origin::Recipe(recipe), facts.into_any()).for_workers_by(workers))
}
