//! Sources of frames for Python.

use std::sync::Arc;

use mdreel_core::source::open::{Announcement, Opened};
use mdreel_core::source::{self as core, SourceExt, damage::OnError, places::Places};
use mdreel_core::{Error, frame::Quantity};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2, PyReadonlyArray3};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::block::FrameSet;
use crate::chunked::OpenFiles;
use crate::error::to_python;
use crate::external_reads::read_by;
use crate::facts::{facts, known_facts};
use crate::frame::{Frames, arrays_of, from_arrays};
use crate::origin::{Origin, announced_files, open_files};
use crate::patience::patiently;
use crate::reader::FrameReader;
use crate::transform::{Chain, Transformation};

/// An open trajectory. It is immutable, and several threads can use it. A pickled source opens its files again when it is
/// unpickled. Calls that may take long respond to Ctrl-C.
#[pyclass(frozen, module = "mdreel._core")]
pub struct Source {
    opened: Opened,
    /// The treatment of damaged frames, and the source that applies it.
    on_error: OnError,
    source: Arc<dyn core::Source>,
    origin: Option<Arc<Origin>>,
    /// The transformations of each frame that is read.
    transformations: Chain,
    /// The facts about each file if they are known, as objects or as `KeptFacts`.
    facts: Option<Py<PyAny>>,
    left_out: Option<LeftOut>,
    /// A Python function that takes the source. It returns a function and its arguments, which open the same files in another
    /// process when they are first read there.
    workers: Option<Py<PyAny>>,
}

/// Returns how many frames of a stream had gone before its reader joined, and how many were overwritten before it took them.
type LeftOut = Arc<dyn Fn() -> (u64, u64) + Send + Sync>;

impl Source {
    pub fn shared(&self) -> Arc<dyn core::Source> {
        Arc::clone(&self.source)
    }

    pub fn opened(&self) -> &Opened {
        &self.opened
    }

    /// Creates a source that was opened with the help of Python. `facts` are those of one file, or a list.
    pub fn described(opened: Opened, origin: Origin, facts: Bound<'_, PyAny>) -> Self {
        Source { facts: Some(facts.unbind()), ..Source::new(opened, Some(origin)) }
    }

    /// Creates a source that was opened without the help of Python.
    pub fn plain(opened: Opened, origin: Origin) -> Self {
        Source::new(opened, Some(origin))
    }

    /// Returns whether a pickled source contains everything that other processes need to know about its files.
    fn is_told(&self) -> bool {
        self.on_error == OnError::Raise && matches!(self.origin.as_deref(), Some(Origin::Kept { .. }))
    }

    /// Sets the function that counts the frames that the source could not get.
    pub fn leaving_out(self, left_out: LeftOut) -> Self {
        Source { left_out: Some(left_out), ..self }
    }

    /// Returns a source of the same files with other treatment of their frames.
    fn with(&self, py: Python<'_>, on_error: OnError, source: Arc<dyn core::Source>, transformations: Chain) -> Self {
        let (origin, facts) = (self.origin.clone(), self.facts.as_ref().map(|facts| facts.clone_ref(py)));
        let left_out = self.left_out.clone();
        let workers = self.workers.as_ref().map(|workers| workers.clone_ref(py));
        Source { opened: self.opened.clone(), on_error, source, origin, transformations, facts, left_out, workers }
    }

    fn new(opened: Opened, origin: Option<Origin>) -> Self {
        let (source, origin) = (opened.source(), origin.map(Arc::new));
        let transformations = Chain::default();
        let (facts, left_out, workers) = (None, None, None);
        Source { opened, on_error: OnError::Raise, source, origin, transformations, facts, left_out, workers }
    }

    /// Returns the same source, with `workers` to open the files in another process when they are first read there.
    pub fn for_workers_by(self, workers: Option<Py<PyAny>>) -> Self {
        Source { workers, ..self }
    }

    /// Returns how other processes open the files when they first read them; `None` if they must open them at once.
    fn told(&self, slf: &Bound<'_, Self>) -> PyResult<Option<Origin>> {
        let py = slf.py();
        if let Some(workers) = &self.workers {
            return Ok(Some(Origin::Recipe(workers.bind(py).call1((slf,))?.extract()?)));
        }
        let Some(origin) = &self.origin else { return Ok(None) };
        let told = Announcement::of(&self.opened).and_then(|told| told.map(|told| told.to_bytes()).transpose());
        let told = told.map_err(|error| to_python(py, error))?;
        Ok(told.and_then(|told| origin.telling(py, Some(told))))
    }
}

#[pymethods]
impl Source {
    /// Open files as one trajectory. See `mdreel.trajectory.open.open`.
    #[staticmethod]
    #[pyo3(signature = (paths, format=None, access="auto", index="cache", overlaps="keep", among=None))]
    fn open(
        paths: Bound<'_, PyList>,
        format: Option<String>,
        access: &str,
        index: &str,
        overlaps: &str,
        among: Option<Py<OpenFiles>>,
    ) -> PyResult<Self> {
        let names = [access, index, overlaps];
        let opened = open_files(&paths, format.as_deref(), names, OpenFiles::of(among.as_ref()))?;
        Ok(Source::new(opened, Some(Origin::new(paths, format, names, among))))
    }

    /// Open files as one trajectory when they are first read. `told` is the announcement of the files by another process, shape
    /// (n_bytes,), uint8.
    #[staticmethod]
    #[pyo3(signature = (paths, format, access, index, overlaps, told, among=None))]
    fn open_announced(
        paths: Bound<'_, PyList>,
        format: Option<String>,
        access: &str,
        index: &str,
        overlaps: &str,
        told: PyReadonlyArray1<'_, u8>,
        among: Option<Py<OpenFiles>>,
    ) -> PyResult<Self> {
        let names = [access, index, overlaps];
        let told = told.as_slice()?;
        let opened = announced_files(&paths, format.as_deref(), names, told, &OpenFiles::of(among.as_ref()))?;
        let origin = Origin::new(paths.clone(), format, names, among).telling(paths.py(), Some(told.to_vec()));
        Ok(Source::new(opened, origin))
    }

    /// Return the same trajectory for workers, which open each file when they first read it. This raises an error in a worker
    /// whose file is not the one that is open here.
    fn for_workers(slf: &Bound<'_, Self>) -> PyResult<Self> {
        let (py, own) = (slf.py(), slf.get());
        let mut same = own.with(py, own.on_error, own.shared(), own.transformations.copy(py));
        if own.is_told() {
            return Ok(same);
        }
        if let Some(origin) = own.told(slf)? {
            same.origin = Some(Arc::new(origin));
        }
        Ok(same)
    }

    /// Return the stamp that identifies the file for other processes, shape (n_bytes,), uint8; None if there is no single file.
    fn stamp<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray1<u8>>>> {
        let source = self.shared();
        let stamp = source.capabilities().file.map(|file| file.stamp().to_bytes()).transpose();
        Ok(stamp.map_err(|error| to_python(py, error))?.map(|bytes| bytes.into_pyarray(py)))
    }

    /// Open the file of a trajectory of one file, if it is not open yet.
    fn ensure_open(&self, py: Python<'_>) -> PyResult<()> {
        let opened = self.opened.clone();
        patiently(py, move || match &opened {
            Opened::Deferred(_, file) => file.opened().map(drop),
            _ => opened.source().capabilities().file.map_or(Ok(()), |file| file.ensure_open()),
        })
    }

    /// Copy frames from arrays in memory. The positions have the shape (n_frames, n_atoms, 3), Å, and the times the shape
    /// (n_frames,), ps. The unit cells have the shape (n_frames, 6): lengths in Å and angles in degrees, or zeros for no cell.
    #[staticmethod]
    #[pyo3(signature = (positions, times, dimensions=None))]
    fn memory(
        py: Python<'_>,
        positions: PyReadonlyArray3<'_, f32>,
        times: PyReadonlyArray1<'_, f64>,
        dimensions: Option<PyReadonlyArray2<'_, f32>>,
    ) -> PyResult<Self> {
        let memory = from_arrays(py, &positions, &times, dimensions.as_ref())?;
        Ok(Source::new(Opened::Memory(Arc::new(memory)), None))
    }

    /// Return the same trajectory, in which a damaged frame raises an error (`raise`), ends it (`stop`), or is left out (`skip`).
    fn with_on_error(&self, py: Python<'_>, on_error: &str) -> PyResult<Self> {
        let on_error = OnError::from_name(on_error).map_err(|error| to_python(py, error))?;
        if on_error == self.on_error {
            return Ok(self.with(py, on_error, self.shared(), self.transformations.copy(py)));
        }
        let source = self.opened.source_on_error(on_error).and_then(|source| self.transformations.over(source));
        let source = source.map_err(|error| to_python(py, error))?;
        Ok(self.with(py, on_error, source, self.transformations.copy(py)))
    }

    /// Return the same trajectory, with these transformations applied in order to each frame that is read.
    fn with_transformations(&self, py: Python<'_>, transformations: Vec<Py<Transformation>>) -> PyResult<Self> {
        let more = Chain(transformations);
        let source = more.over(self.shared()).map_err(|error| to_python(py, error))?;
        Ok(self.with(py, self.on_error, source, self.transformations.then(py, more)))
    }

    /// Transformations that are applied to each frame that is read.
    #[getter]
    fn transformations(&self, py: Python<'_>) -> Vec<Py<Transformation>> {
        self.transformations.copy(py).0
    }

    /// Treatment of damaged frames: `raise`, `stop` or `skip`.
    #[getter]
    fn on_error(&self) -> &'static str {
        self.on_error.name()
    }

    /// Name of the format; `chain` for several files, `memory` for arrays.
    #[getter]
    fn format(&self) -> &str {
        self.opened.format()
    }

    /// Number of files that form the trajectory, one after another; 1 for arrays.
    #[getter]
    fn n_segments(&self) -> usize {
        self.opened.n_parts()
    }

    /// Return whether the trajectory consists of exactly the files of these sources, one after another.
    fn consists_of(&self, sources: Vec<PyRef<'_, Source>>) -> bool {
        let mut segments = sources.iter().flat_map(|source| source.opened.parts());
        let is_same =
            |own: &Opened, other: &Opened| std::ptr::addr_eq(Arc::as_ptr(&own.source()), Arc::as_ptr(&other.source()));
        self.opened.parts().all(|own| segments.next().is_some_and(|other| is_same(own, other)))
            && segments.next().is_none()
    }

    /// Number of atoms in each frame.
    #[getter]
    fn n_atoms(&self) -> usize {
        self.shared().n_atoms()
    }

    /// Whether the trajectory grows while it is read, so that more frames may follow.
    #[getter]
    fn is_growing(&self) -> bool {
        self.shared().growth().is_some()
    }

    /// Numbers of frames of a stream that were gone before it was opened, and that were overwritten before it took them. The value
    /// is None for other trajectories.
    #[getter]
    fn left_out(&self) -> Option<(u64, u64)> {
        self.left_out.as_ref().map(|left_out| left_out())
    }

    /// Number of frames. If necessary, this locates the frames first. For a growing source, it is the number of frames found so
    /// far.
    #[getter]
    fn n_frames(&self, py: Python<'_>) -> PyResult<u64> {
        let source = self.shared();
        patiently(py, move || source.n_frames())
    }

    /// Format and path of each file. The path is None unless the core reads the file from a file system.
    #[getter]
    fn files(&self) -> Vec<(String, Option<std::path::PathBuf>)> {
        self.opened.parts().map(|part| (part.format().to_owned(), part.file_path())).collect()
    }

    /// Return the same trajectory, with an object that reads the bytes of its files. The method `read(file, ranges)` of `reads`
    /// receives the number of the file, and the first byte and the end of each range. It returns the bytes of all ranges, one
    /// after another, shape (n_bytes,), uint8.
    fn read_by(&self, py: Python<'_>, reads: Py<PyAny>) -> PyResult<Self> {
        let read = Source::new(read_by(py, &self.opened, &reads)?, None);
        let same = read.with_on_error(py, self.on_error.name())?.with_transformations(py, self.transformations(py))?;
        let places = self.shared().places();
        same.shared().take_places(&mut places.into_iter()).map_err(|error| to_python(py, error))?;
        Ok(same)
    }

    /// Size in storage, in bytes.
    #[getter]
    fn n_bytes(&self) -> u64 {
        self.shared().n_bytes()
    }

    /// Number of bytes that were fetched through the network so far; None for trajectories that need no network.
    #[getter]
    fn n_fetched(&self) -> Option<u64> {
        self.shared().n_fetched()
    }

    /// Whether the position of each frame is known.
    #[getter]
    fn is_located(&self) -> bool {
        self.shared().unlocated_bytes().is_none()
    }

    /// Return the known facts about the files, as bytes for other processes that read them, shape (n_bytes,), uint8. See
    /// `take_places`.
    fn places<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<u8>>> {
        if self.is_told() {
            let nothing = Places::to_bytes(&[]).map_err(|error| to_python(py, error))?;
            return Ok(nothing.into_pyarray(py));
        }
        let source = self.shared();
        Ok(patiently(py, move || Places::to_bytes(&source.places()))?.into_pyarray(py))
    }

    /// Apply the facts of another process about the same files, so that this process need not locate their frames again.
    fn take_places(&self, py: Python<'_>, places: PyReadonlyArray1<'_, u8>) -> PyResult<()> {
        let (source, places) = (self.shared(), places.as_slice()?);
        let taken = py.detach(|| source.take_places(&mut Places::from_bytes(places)?.into_iter()));
        taken.map_err(|error| to_python(py, error))
    }

    /// Keep the frame index of each file for later runs, if the frames have been located and the format needs an index.
    fn keep_index(&self, py: Python<'_>) {
        let opened = &self.opened;
        py.detach(|| opened.parts().for_each(|part| part.source().keep_index()));
    }

    /// Return the time of each frame, shape (n_frames,), float64, ps. If necessary, this locates the frames first.
    fn times<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let source = self.shared();
        Ok(patiently(py, move || source.times())?.into_pyarray(py))
    }

    /// Raise FormatError if an incomplete frame follows the last complete one.
    fn check_end(&self, py: Python<'_>) -> PyResult<()> {
        let source = self.shared();
        patiently(py, move || source.check_end())
    }

    /// Return the facts about each file: format, path, size, and facts that are specific to the format.
    pub fn describe<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        if let Some(known) = self.facts.as_ref().map(|facts| known_facts(facts.bind(py))).transpose()?.flatten() {
            return Ok(known);
        }
        self.opened.parts().map(|part| facts(py, part)).collect()
    }

    /// Quantities that the frames can have, among positions, velocities and forces.
    #[getter]
    fn quantities(&self) -> Vec<&'static str> {
        self.shared().quantities().iter().map(Quantity::name).collect()
    }

    /// Return a reader of the positions of these atoms and of other requested quantities, for frequent reads.
    #[pyo3(signature = (atoms, wanted=vec!["positions".to_owned()]))]
    fn reader(&self, atoms: PyReadonlyArray1<'_, u32>, wanted: Vec<String>) -> PyResult<FrameReader> {
        FrameReader::new(self, &atoms, &wanted)
    }

    /// Read the positions of these atoms and other requested quantities. If the source grows, the method waits for the frames.
    #[pyo3(signature = (frames, atoms, wanted=vec!["positions".to_owned()]))]
    fn read(
        &self,
        py: Python<'_>,
        frames: &FrameSet,
        atoms: PyReadonlyArray1<'_, u32>,
        wanted: Vec<String>,
    ) -> PyResult<Frames> {
        FrameReader::new(self, &atoms, &wanted)?.read(py, frames)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let method = |name| py.get_type::<Source>().getattr(name);
        if !self.transformations.0.is_empty() {
            let plain = self.opened.source_on_error(self.on_error).map_err(|error| to_python(py, error))?;
            let arguments = (self.with(py, self.on_error, plain, Chain::default()), self.transformations(py));
            return Ok((method("with_transformations")?, arguments.into_pyobject(py)?.into_any()));
        }
        if self.on_error != OnError::Raise {
            let arguments = (self.with_on_error(py, OnError::Raise.name())?, self.on_error.name());
            return Ok((method("with_on_error")?, arguments.into_pyobject(py)?.into_any()));
        }
        match (&self.origin, &self.opened) {
            (Some(origin), _) => origin.again(py),
            (None, Opened::Memory(memory)) => {
                Ok((method("memory")?, arrays_of(py, memory)?.into_pyobject(py)?.into_any()))
            }
            (None, _) => {
                let message = "this trajectory stays in its process: write it to a file to share it";
                Err(to_python(py, Error::unsupported(message)))
            }
        }
    }

    fn __repr__(&self) -> String {
        format!("<{} trajectory of {} atoms>", self.opened.format(), self.n_atoms())
    }
}
