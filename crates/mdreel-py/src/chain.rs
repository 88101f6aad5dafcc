//! Chains of sources that were opened in different ways.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use mdreel_core::source::kept_chain::{FileCheck as CoreFileCheck, KeptChain};
use mdreel_core::source::open::{Options, chain};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::error::to_python;
use crate::facts::KeptFacts;
use crate::origin::Origin;
use crate::patience::patiently;
use crate::source::Source;

/// Join sources of the same atoms to one source.
///
/// Error messages name the files by `paths`. A source may be a chain of several files. `recipe` is a function and its
/// arguments, with which the chain is created again after unpickling. `workers` takes the chain and returns a function and its
/// arguments, with which workers create the same chain. `facts` are the facts that `describe` returns, if they are known.
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
    let segments = sources.iter().flat_map(|source| source.opened().parts().cloned());
    let parts = paths.iter().map(|path| path.as_path().into()).zip(segments).collect();
    let opened = chain(parts, options.overlaps).map_err(|error| to_python(py, error))?;
    Ok(Source::described(opened, Origin::Recipe(recipe), facts.into_any()).for_workers_by(workers))
}

/// Check whether the files of a chain have changed since they were described.
#[pyclass(frozen, module = "mdreel._core")]
pub struct FileCheck(Mutex<State>);

enum State {
    Open(CoreFileCheck),
    Done(bool),
}

impl FileCheck {
    fn replace(&self, state: State) -> State {
        std::mem::replace(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), state)
    }
}

#[pymethods]
impl FileCheck {
    /// Begin to query the files on other threads of the core.
    fn begin(&self) {
        if let State::Open(check) = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            check.begin();
        }
    }

    /// Query the files, and return whether all of them are unchanged.
    fn are_unchanged(&self, py: Python<'_>) -> PyResult<bool> {
        let done = match self.replace(State::Done(false)) {
            State::Open(check) => patiently(py, move || Ok(check.are_unchanged()))?,
            State::Done(done) => done,
        };
        self.replace(State::Done(done));
        Ok(done)
    }
}

/// Open a chain from its kept description, without opening its files.
///
/// The paths are separated by NUL. The function returns the chain, and the check that its files are unchanged, or None if they
/// had to be checked in advance. It returns None if there is no description, or if a check in advance has failed.
#[pyfunction]
#[pyo3(signature = (paths, format, access, index, overlaps))]
pub(crate) fn kept_chain(
    py: Python<'_>,
    paths: String,
    format: Option<&str>,
    access: &str,
    index: &str,
    overlaps: &str,
) -> PyResult<Option<(Source, Option<FileCheck>)>> {
    let options = Options::from_names(format, access, index, overlaps).map_err(|error| to_python(py, error))?;
    let found = patiently(py, move || {
        let Some((kept, check)) = KeptChain::load(&paths, options) else { return Ok(None) };
        Ok(Some((kept.chain.open(options, &Arc::default())?, kept.bytes, kept.notes, check)))
    })?;
    let Some((opened, told, facts, check)) = found else { return Ok(None) };
    let origin = Origin::kept(told.into(), format, [access, index, overlaps]);
    let source = Source::described(opened, origin, Bound::new(py, KeptFacts(facts))?.into_any());
    Ok(Some((source, check.map(|check| FileCheck(Mutex::new(State::Open(check)))))))
}

/// Open a chain that another process has described. `told` is the description, shape (n_bytes,), uint8.
#[pyfunction]
#[pyo3(signature = (told, format, access, index, overlaps))]
pub(crate) fn described_chain(
    py: Python<'_>,
    told: PyReadonlyArray1<'_, u8>,
    format: Option<&str>,
    access: &str,
    index: &str,
    overlaps: &str,
) -> PyResult<Source> {
    let told: Arc<[u8]> = told.as_slice()?.into();
    let opened = Options::from_names(format, access, index, overlaps)
        .and_then(|options| KeptChain::from_bytes(&told)?.open(options, &Arc::default()))
        .map_err(|error| to_python(py, error))?;
    Ok(Source::plain(opened, Origin::kept(told, format, [access, index, overlaps])))
}

/// Keep the description of a chain for later runs, and return whether the chain can be described.
///
/// The function keeps the description only if each file is known to end with a complete frame. `facts` are the facts about the
/// files as JSON. The paths are separated by NUL.
#[pyfunction]
#[pyo3(signature = (source, paths, format, index, overlaps, facts))]
pub(crate) fn keep_chain(
    py: Python<'_>,
    source: &Source,
    paths: String,
    format: Option<&str>,
    index: &str,
    overlaps: &str,
    facts: String,
) -> PyResult<bool> {
    let options = Options::from_names(format, "auto", index, overlaps).map_err(|error| to_python(py, error))?;
    let opened = source.opened().clone();
    patiently(py, move || KeptChain::keep(&opened, &paths, options, &facts))
}
