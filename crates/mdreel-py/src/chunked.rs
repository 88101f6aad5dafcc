//! Chunked trajectories whose structure Python describes.

use std::path::PathBuf;
use std::sync::Arc;

use mdreel_core::Error;
use mdreel_core::frame::Quantity;
use mdreel_core::source::bytes::{FileBytes, OpenFiles as CoreOpenFiles, Stamp};
use mdreel_core::source::chunked as core;
use mdreel_core::source::chunked::{Cells, Conversion, Filter, Number, StoredChunk};
use mdreel_core::source::open::{Opened, Options, is_hdf5 as core_is_hdf5};
use mdreel_core::unit_cell::UnitCell;
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyTuple, PyType};

use crate::error::to_python;
use crate::frame::quantities;
use crate::origin::Origin;
use crate::patience::patiently;
use crate::source::Source;

/// Files that share a limit on the number of open files.
#[pyclass(frozen, module = "mdreel._core")]
pub struct OpenFiles(Arc<CoreOpenFiles>);

impl OpenFiles {
    /// Returns the limit that these files share; a separate one for `None`.
    pub(crate) fn of(files: Option<&Py<OpenFiles>>) -> Arc<CoreOpenFiles> {
        files.map_or_else(Arc::default, |files| Arc::clone(&files.get().0))
    }
}

#[pymethods]
impl OpenFiles {
    /// Allow up to `most` open files (default: 64), but at most a quarter of the limit of the process.
    #[new]
    #[pyo3(signature = (most=None))]
    fn new(most: Option<usize>) -> Self {
        OpenFiles(most.map_or_else(Arc::default, |most| Arc::new(CoreOpenFiles::for_files(most))))
    }

    /// Return a constructor without arguments.
    ///
    /// Sources that share this object and are pickled together share one object after unpickling.
    fn __reduce__<'py>(&self, py: Python<'py>) -> (Bound<'py, PyType>, Bound<'py, PyTuple>) {
        (py.get_type::<OpenFiles>(), PyTuple::empty(py))
    }
}

/// A dataset, from the Python class `mdreel.trajectory.hdf5.Dataset`.
#[derive(FromPyObject)]
pub(crate) struct Dataset<'py> {
    name: String,
    number: String,
    shape: [u64; 3],
    chunk: [u64; 3],
    /// Identifiers of HDF5 filters, each with its first parameter.
    filters: Vec<(u32, usize)>,
    cells: PyReadonlyArray1<'py, u64>,
    offsets: PyReadonlyArray1<'py, u64>,
    sizes: PyReadonlyArray1<'py, u64>,
    filter_masks: PyReadonlyArray1<'py, u32>,
    fill_value: f64,
    scale: f64,
    in_double: bool,
    unit: f64,
    /// The frame of the dataset for each frame of the trajectory; -1 for none.
    frames: Option<PyReadonlyArray1<'py, i64>>,
}

/// The unit cells: fixed vectors or dimensions, or datasets that contain them.
#[derive(FromPyObject)]
pub(crate) enum CellItems<'py> {
    #[pyo3(transparent)]
    Vectors([[f32; 3]; 3]),
    #[pyo3(transparent)]
    Dimensions([f32; 6]),
    #[pyo3(transparent)]
    Datasets((Dataset<'py>, Option<Dataset<'py>>)),
    #[pyo3(transparent)]
    Rows(Dataset<'py>),
}

fn describe(dataset: &Dataset<'_>) -> Result<core::Description, Error> {
    let unknown = |what: String| Error::unsupported(format!("{}: {what} is not supported", dataset.name));
    let filter =
        |&(id, parameter)| Filter::from_hdf5(id, parameter).ok_or_else(|| unknown(format!("the filter {id} of HDF5")));
    let places = dataset.cells.as_array();
    let (offsets, sizes, masks) =
        (dataset.offsets.as_array(), dataset.sizes.as_array(), dataset.filter_masks.as_array());
    if [offsets.len(), sizes.len(), masks.len()] != [places.len(); 3] {
        return Err(Error::mismatch(format!("{}: the columns of the table of chunks differ in length", dataset.name)));
    }
    Ok(core::Description {
        name: dataset.name.clone(),
        number: Number::from_name(&dataset.number).ok_or_else(|| unknown(format!("the type {}", dataset.number)))?,
        shape: dataset.shape,
        chunk: dataset.chunk,
        filters: dataset.filters.iter().map(filter).collect::<Result<_, _>>()?,
        chunks: (0..places.len())
            .map(|i| StoredChunk { cell: places[i], offset: offsets[i], size: sizes[i], filter_mask: masks[i] })
            .collect(),
        fill_value: dataset.fill_value,
        conversion: Conversion { scale: dataset.scale, in_double: dataset.in_double, unit: dataset.unit as f32 },
        frames: dataset
            .frames
            .as_ref()
            .map(|frames| frames.as_array().iter().map(|&frame| u64::try_from(frame).ok()).collect()),
    })
}

/// Open a trajectory whose arrays are stored in chunks of a file. See `mdreel.trajectory.hdf5`.
#[pyfunction]
#[pyo3(signature = (path, access, times, steps, quantities, cells, facts, recipe, open_files, workers=None, stamp=None))]
#[allow(clippy::too_many_arguments, reason = "named by the caller")]
pub(crate) fn chunked_source<'py>(
    py: Python<'py>,
    path: PathBuf,
    access: &str,
    times: PyReadonlyArray1<'py, f64>,
    steps: PyReadonlyArray1<'py, i64>,
    quantities: Vec<(String, Dataset<'py>)>,
    cells: Option<CellItems<'py>>,
    facts: Bound<'py, PyAny>,
    recipe: (Py<PyAny>, Py<PyAny>),
    open_files: &OpenFiles,
    workers: Option<Py<PyAny>>,
    stamp: Option<PyReadonlyArray1<'py, u8>>,
) -> PyResult<Source> {
    let layout = || -> Result<core::Layout, Error> {
        let quantity = |(name, dataset): &(String, Dataset<'_>)| Ok((named(name)?, describe(dataset)?));
        Ok(core::Layout {
            times: times.as_array().to_vec(),
            steps: steps.as_array().to_vec(),
            quantities: quantities.iter().map(quantity).collect::<Result<_, Error>>()?,
            cells: match &cells {
                None => Cells::None,
                Some(CellItems::Vectors(vectors)) => Cells::Fixed(UnitCell::Vectors(*vectors)),
                Some(CellItems::Dimensions(dimensions)) => Cells::Fixed(UnitCell::Dimensions(*dimensions)),
                Some(CellItems::Rows(vectors)) => Cells::Vectors(describe(vectors)?),
                Some(CellItems::Datasets((lengths, angles))) => Cells::Dimensions {
                    lengths: describe(lengths)?,
                    angles: angles.as_ref().map(describe).transpose()?,
                },
            },
        })
    };
    let layout = layout().map_err(|error| to_python(py, error))?;
    let options = Options::from_names(None, access, "none", "keep").map_err(|error| to_python(py, error))?;
    let format = facts.get_item("format")?.extract::<String>()?;
    let open_files = Arc::clone(&open_files.0);
    let stamp =
        stamp.map(|stamp| Stamp::from_bytes(stamp.as_slice()?).map_err(|error| to_python(py, error))).transpose()?;
    let opened = patiently(py, move || {
        let file = match stamp {
            Some(stamp) => FileBytes::stamped(&path, options.access, stamp, open_files),
            None => FileBytes::open_among(&path, options.access, open_files)?,
        };
        core::Chunked::open(file, layout)
    })?;
    let source = Source::described(Opened::Other(Arc::new(opened), format.into()), Origin::Recipe(recipe), facts);
    Ok(source.for_workers_by(workers))
}

fn named(name: &str) -> Result<Quantity, Error> {
    let set = quantities(&[name.to_owned()])?;
    set.iter().next().ok_or_else(|| Error::unsupported(format!("unknown quantity {name:?}")))
}

/// Return whether a file is in the HDF5 format.
#[pyfunction]
pub(crate) fn is_hdf5(py: Python<'_>, path: PathBuf) -> PyResult<bool> {
    patiently(py, move || core_is_hdf5(&path))
}
