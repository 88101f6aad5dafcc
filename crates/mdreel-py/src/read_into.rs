//! Reading of frames into arrays of the caller.

use std::sync::Arc;

use mdreel_core::Error;
use mdreel_core::frame::{Columns, Quantity};
use mdreel_core::read_into::{FramesRead, Job};
use mdreel_core::source::rows::Rows;
use mdreel_core::source::{AtomSelection, Source as CoreSource};
use numpy::ndarray::{ArrayViewMut2, ArrayViewMut3, Axis};
use numpy::{Element, IntoPyArray, PyArray1, PyArray2, PyArray3, PyArrayMethods, PyReadonlyArray1, PyReadwriteArray3};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::block::FrameSet;
use crate::damage::{Record, records};
use crate::error::to_python;
use crate::follow::await_frame;
use crate::frame::{cells, quantities, selection};
use crate::pool::{Attendant, attended};
use crate::source::Source;

/// Frame numbers, times in ps, integration steps, cells, the number of frames in each portion, and the damaged frames that were
/// left out.
type Found<'py> = (
    Bound<'py, PyArray1<u64>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray2<f32>>,
    Vec<usize>,
    Vec<Record>,
);

/// Read frames into arrays on `n_workers` threads.
///
/// `outs` contains the name of each requested quantity with an array of shape (n_frames, n_atoms, 3). The arrays are all
/// float32 or all float64 and may have any strides. `places` contains the index in `atoms` of each of these n_atoms atoms;
/// without `places`, the arrays contain `atoms` in order. Each portion has `portion_frames` frames. If damaged frames are left
/// out, the frames after them in the same portion move up.
///
/// The function returns frame numbers, times (ps), steps, cells of shape (n_read, 6), the number of frames in each portion, and
/// the damaged frames.
#[pyfunction]
#[pyo3(signature = (source, frames, atoms, places, outs, portion_frames, n_workers, monitor=None))]
#[expect(clippy::too_many_arguments, reason = "Python names them")]
pub(crate) fn read_into<'py>(
    py: Python<'py>,
    source: &Source,
    frames: &FrameSet,
    atoms: PyReadonlyArray1<'py, u32>,
    places: Option<PyReadonlyArray1<'py, u32>>,
    outs: Vec<(String, Bound<'py, PyAny>)>,
    portion_frames: u64,
    n_workers: usize,
    monitor: Option<Py<PyAny>>,
) -> PyResult<Found<'py>> {
    let wish = Wish {
        source: source.shared(),
        frames: &frames.0,
        atoms: selection(&atoms)?,
        places: places.map(|places| places.as_array().to_vec()),
        portion_frames: portion_frames.max(1),
        n_workers,
    };
    if outs.iter().all(|(_, out)| out.is_instance_of::<PyArray3<f32>>()) {
        return wish.fill::<f32>(py, outs, monitor);
    }
    if outs.iter().all(|(_, out)| out.is_instance_of::<PyArray3<f64>>()) {
        return wish.fill::<f64>(py, outs, monitor);
    }
    Err(PyTypeError::new_err("arrays of three dimensions, all float32 or all float64, are needed"))
}

/// A validated request to read frames.
struct Wish<'a> {
    source: Arc<dyn CoreSource>,
    frames: &'a mdreel_core::block::FrameSet,
    atoms: AtomSelection,
    places: Option<Vec<u32>>,
    portion_frames: u64,
    n_workers: usize,
}

impl Wish<'_> {
    fn fill<'py, T: Value>(
        self,
        py: Python<'py>,
        outs: Vec<(String, Bound<'py, PyAny>)>,
        monitor: Option<Py<PyAny>>,
    ) -> PyResult<Found<'py>> {
        let Wish { source, frames, atoms, places, portion_frames, n_workers } = self;
        let names: Vec<String> = outs.iter().map(|(name, _)| name.clone()).collect();
        let wanted = quantities(&names).map_err(|error| to_python(py, error))?;
        if let Some(place) = places.iter().flatten().find(|&&place| place as usize >= atoms.len()) {
            let message = format!("place {place} was asked for among {} atoms", atoms.len());
            return Err(to_python(py, Error::mismatch(message)));
        }
        let shape = [frames.len() as usize, places.as_ref().map_or(atoms.len(), Vec::len), 3];
        let mut arrays = Vec::new();
        for (name, out) in outs {
            let array: PyReadwriteArray3<'py, T> = out.cast::<PyArray3<T>>()?.try_readwrite()?;
            if array.as_array().shape() != shape {
                let message = format!("{name} needs an array of shape {shape:?}, got {:?}", array.as_array().shape());
                return Err(to_python(py, Error::mismatch(message)));
            }
            let known = wanted.iter().find(|quantity| quantity.name() == name);
            arrays.extend(known.map(|quantity| (quantity, array)));
        }
        let mut portions: Vec<Portion<'_, T>> = Vec::new();
        for (quantity, array) in &mut arrays {
            for (i, part) in cut(array.as_array_mut(), portion_frames as usize).into_iter().enumerate() {
                if i == portions.len() {
                    portions.push(Portion { places: places.as_deref(), quantities: Vec::new() });
                }
                portions[i].quantities.push((*quantity, part));
            }
        }
        if let Some(last) = frames.last() {
            await_frame(py, &*source, last)?;
        }
        let work = |monitor: &mut Attendant| {
            let job = Job { source: &*source, atoms: &atoms, wanted, frames, portion_frames };
            job.read_into(portions, n_workers, monitor)
        };
        let FramesRead { headers, damage } = attended(py, monitor, work)?;
        let counts = headers.iter().map(Vec::len).collect();
        let headers = headers.concat();
        let numbers: Vec<u64> = headers.iter().map(|header| header.index).collect();
        let times: Vec<f64> = headers.iter().map(|header| header.time).collect();
        let steps: Vec<i64> = headers.iter().map(|header| header.step).collect();
        let dimensions = cells(&headers, |cell| cell.dimensions().to_vec());
        let dimensions = dimensions.into_pyarray(py).reshape([headers.len(), 6])?;
        let (numbers, times, steps) = (numbers.into_pyarray(py), times.into_pyarray(py), steps.into_pyarray(py));
        Ok((numbers, times, steps, dimensions, counts, records(damage)))
    }
}

/// A floating point type of the caller's arrays.
trait Value: Element + Copy + From<f32> {
    /// Returns the numbers of a row by atoms if they are float32.
    fn singles(row: &mut [Self]) -> Option<&mut [[f32; 3]]>;
}

impl Value for f32 {
    fn singles(row: &mut [Self]) -> Option<&mut [[f32; 3]]> {
        Some(row.as_chunks_mut().0)
    }
}

impl Value for f64 {
    fn singles(_row: &mut [Self]) -> Option<&mut [[f32; 3]]> {
        None
    }
}

/// Divides a view into portions of frames.
fn cut<T>(mut rest: ArrayViewMut3<'_, T>, portion_frames: usize) -> Vec<ArrayViewMut3<'_, T>> {
    let mut portions = Vec::new();
    while rest.len_of(Axis(0)) > portion_frames {
        let (portion, behind) = rest.split_at(Axis(0), portion_frames);
        portions.push(portion);
        rest = behind;
    }
    portions.push(rest);
    portions
}

/// Rows of the caller's arrays for consecutive frames.
struct Portion<'a, T> {
    /// The index among the read atoms of each atom of a row; `None` if they are the same.
    places: Option<&'a [u32]>,
    /// The rows of each wanted quantity.
    quantities: Vec<(Quantity, ArrayViewMut3<'a, T>)>,
}

impl<T: Value> Rows for Portion<'_, T> {
    fn write(&mut self, row: usize, quantity: Quantity, columns: Option<Columns<'_>>) {
        let Some((_, rows)) = self.quantities.iter_mut().find(|(of, _)| *of == quantity) else { return };
        let mut row = rows.index_axis_mut(Axis(0), row);
        match (columns, self.places) {
            (Some(columns), None) => copy(columns, &mut row),
            (Some(columns), Some(places)) => gather(columns, places, &mut row),
            (None, _) => row.fill(T::from(f32::NAN)),
        }
    }

    fn values(&mut self, row: usize, quantity: Quantity) -> Option<&mut [[f32; 3]]> {
        if self.places.is_some() {
            return None;
        }
        let (_, rows) = self.quantities.iter_mut().find(|(of, _)| *of == quantity)?;
        rows.index_axis_mut(Axis(0), row).into_slice().and_then(T::singles)
    }
}

/// Copies the columns of a frame to a row (n_atoms, 3).
fn copy<T: Copy + From<f32>>(columns: Columns<'_>, row: &mut ArrayViewMut2<'_, T>) {
    let Columns { x, y, z } = columns;
    if let Some(values) = row.as_slice_mut() {
        let atoms = values.as_chunks_mut::<3>().0;
        for (atom, ((&x, &y), &z)) in atoms.iter_mut().zip(x.iter().zip(y).zip(z)) {
            *atom = [T::from(x), T::from(y), T::from(z)];
        }
        return;
    }
    for (column, mut values) in [x, y, z].into_iter().zip(row.axis_iter_mut(Axis(1))) {
        values.iter_mut().zip(column).for_each(|(value, &from)| *value = T::from(from));
    }
}

/// Copies the atoms at `places` from the columns of a frame to a row (n_places, 3).
fn gather<T: Copy + From<f32>>(columns: Columns<'_>, places: &[u32], row: &mut ArrayViewMut2<'_, T>) {
    let Columns { x, y, z } = columns;
    for (column, mut values) in [x, y, z].into_iter().zip(row.axis_iter_mut(Axis(1))) {
        values.iter_mut().zip(places).for_each(|(value, &place)| *value = T::from(column[place as usize]));
    }
}
