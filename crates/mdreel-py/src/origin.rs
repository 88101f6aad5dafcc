//! The origin of a source, which determines how a pickled source is opened again.

use std::path::PathBuf;
use std::sync::Arc;

use mdreel_core::Error;
use mdreel_core::source::bytes::OpenFiles as CoreOpenFiles;
use mdreel_core::source::open::{Announcement, Location, Opened, Options, open, open_announced};
use numpy::IntoPyArray;
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::chunked::OpenFiles;
use crate::error::to_python;
use crate::patience::patiently;
use crate::remote::remote_file;
use crate::source::Source;

/// The way in which a source is opened again.
pub enum Origin {
    /// Files, opened with these arguments.
    Files {
        /// Paths, or objects that fetch ranges of bytes.
        paths: Py<PyList>,
        /// The format, unless the content decides it.
        format: Option<String>,
        /// The access, the place of the index, and the overlaps.
        names: [String; 3],
        /// The announcement of the files, for processes that open them when they first read them.
        told: Option<Vec<u8>>,
        /// The files that share a limit with these. If several sources are pickled together, theirs share one again.
        open_files: Option<Py<OpenFiles>>,
    },
    /// A described chain.
    Kept {
        /// The description.
        told: Arc<[u8]>,
        /// The format, unless the content decides it.
        format: Option<String>,
        /// The access, the place of the index, and the overlaps.
        names: [String; 3],
    },
    /// A Python function and its arguments.
    Recipe((Py<PyAny>, Py<PyAny>)),
    /// The source cannot be opened again, for this reason.
    Nowhere(&'static str),
}

impl Origin {
    /// Creates the origin of files that were opened with these arguments.
    pub fn new(
        paths: Bound<'_, PyList>,
        format: Option<String>,
        names: [&str; 3],
        open_files: Option<Py<OpenFiles>>,
    ) -> Self {
        Origin::Files { paths: paths.unbind(), format, names: names.map(str::to_owned), told: None, open_files }
    }

    /// Creates the origin of a described chain.
    pub fn kept(told: Arc<[u8]>, format: Option<&str>, names: [&str; 3]) -> Self {
        Origin::Kept { told, format: format.map(str::to_owned), names: names.map(str::to_owned) }
    }

    /// Returns the origin of the same files with this announcement for other processes; `None` if it is not one of files.
    pub fn telling(&self, py: Python<'_>, told: Option<Vec<u8>>) -> Option<Self> {
        let Origin::Files { paths, format, names, open_files, .. } = self else { return None };
        let open_files = open_files.as_ref().map(|files| files.clone_ref(py));
        Some(Origin::Files {
            paths: paths.clone_ref(py),
            format: format.clone(),
            names: names.clone(),
            told,
            open_files,
        })
    }

    /// Returns a Python function and its arguments that open the source.
    pub fn again<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        match self {
            Origin::Files { paths, format, names: [access, index, overlaps], told: Some(told), open_files } => {
                let told = told.clone().into_pyarray(py);
                let arguments =
                    (paths.bind(py), format, access, index, overlaps, told, open_files).into_pyobject(py)?;
                Ok((py.get_type::<Source>().getattr("open_announced")?, arguments.into_any()))
            }
            Origin::Files { paths, format, names: [access, index, overlaps], told: None, .. } => {
                let arguments = (paths.bind(py), format, access, index, overlaps).into_pyobject(py)?;
                Ok((py.get_type::<Source>().getattr("open")?, arguments.into_any()))
            }
            Origin::Kept { told, format, names: [access, index, overlaps] } => {
                let told = told.to_vec().into_pyarray(py);
                let arguments = (told, format, access, index, overlaps).into_pyobject(py)?;
                Ok((py.import("mdreel._core")?.getattr("described_chain")?, arguments.into_any()))
            }
            Origin::Recipe((function, arguments)) => Ok((function.bind(py).clone(), arguments.bind(py).clone())),
            Origin::Nowhere(reason) => Err(to_python(py, Error::unsupported(*reason))),
        }
    }
}

/// Opens paths, or objects that fetch ranges of bytes, as one trajectory.
pub(crate) fn open_files(
    paths: &Bound<'_, PyList>,
    format: Option<&str>,
    [access, index, overlaps]: [&str; 3],
    open_files: Arc<CoreOpenFiles>,
) -> PyResult<Opened> {
    let py = paths.py();
    let options = Options::from_names(format, access, index, overlaps).map_err(|error| to_python(py, error))?;
    let locations = paths.iter().map(|path| location(&path)).collect::<PyResult<Vec<_>>>()?;
    patiently(py, move || open(locations, options, &open_files))
}

/// Opens the same files as another process, which has announced them. Each file is opened when it is first read.
pub(crate) fn announced_files(
    paths: &Bound<'_, PyList>,
    format: Option<&str>,
    [access, index, overlaps]: [&str; 3],
    told: &[u8],
    open_files: &Arc<CoreOpenFiles>,
) -> PyResult<Opened> {
    let py = paths.py();
    let failed = |error| to_python(py, error);
    let options = Options::from_names(format, access, index, overlaps).map_err(failed)?;
    let told = Announcement::from_bytes(told).map_err(failed)?;
    let locations = paths.iter().map(|path| location(&path)).collect::<PyResult<Vec<_>>>()?;
    open_announced(locations, options, told, open_files).map_err(failed)
}

fn location(path: &Bound<'_, PyAny>) -> PyResult<Location> {
    Ok(match remote_file(path)? {
        Some(file) => Location::Remote(Arc::new(file)),
        None => Location::Path(path.extract::<PathBuf>()?.into()),
    })
}
