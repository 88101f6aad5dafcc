//! The atoms whose positions user functions and folds receive.

use std::sync::Arc;

use mdreel_core::frame::FrameBatch;
use mdreel_core::kernel::group::Group;
use mdreel_core::{Error, Result};
use numpy::ndarray::Array3;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArray3, PyArrayMethods, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::frame::cells;
use crate::kernels::copied;
use crate::selection::Members;

/// Atoms as given by Python: places among the atoms of a frame, or several groups, each as `Members`.
#[derive(FromPyObject)]
pub(crate) enum Places<'py> {
    One(PyReadonlyArray1<'py, u32>),
    Groups(Vec<Members<'py>>),
}

/// Groups of atoms, whose positions are consecutive in one array.
#[derive(Clone)]
pub(crate) struct Given {
    groups: Vec<Group>,
    places: Arc<Vec<u32>>,
    is_list: bool,
}

/// The members of each group in each frame of a batch; `None` for a group that does not change.
pub(crate) type Current = Vec<Option<Vec<Vec<u32>>>>;

/// The arguments of Python for a batch: frames, times, cells, positions, and the members of groups that change.
pub(crate) type Batch<'py> = (
    Bound<'py, PyArray1<u64>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray2<f32>>,
    Bound<'py, PyArray3<f32>>,
    Vec<Option<Vec<Bound<'py, PyArray1<u32>>>>>,
);

impl Places<'_> {
    /// Returns the groups, for frames of `n_atoms` atoms.
    pub(crate) fn given(&self, n_atoms: usize) -> Result<Given> {
        let (groups, is_list) = match self {
            Places::One(places) => (vec![places.as_array().to_vec().into()], false),
            Places::Groups(groups) => (groups.iter().map(Members::group).collect::<Result<Vec<_>>>()?, true),
        };
        let places: Vec<u32> = groups.iter().flat_map(|group: &Group| group.places().iter().copied()).collect();
        match places.iter().find(|&&atom| atom as usize >= n_atoms) {
            Some(atom) => Err(Error::mismatch(format!("atom {atom} of {n_atoms} is wanted"))),
            None => Ok(Given { groups, places: Arc::new(places), is_list }),
        }
    }
}

impl<'py> Places<'py> {
    /// Returns copies of the arrays, from which the same places can be made again. No other code can write to them.
    pub(crate) fn copied(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Places::One(places) => Ok(copied(places).into_any()),
            Places::Groups(groups) => {
                let groups = groups.into_iter().map(|group| group.copied(py)).collect::<PyResult<Vec<_>>>()?;
                Ok(groups.into_pyobject(py)?.into_any())
            }
        }
    }
}

impl Given {
    /// Returns whether Python has given a list of groups.
    pub(crate) fn is_list(&self) -> bool {
        self.is_list
    }

    /// Returns the positions of the atoms of all groups, in order.
    pub(crate) fn positions(&self, batch: &FrameBatch) -> Array3<f32> {
        let mut positions = Array3::zeros((batch.len(), self.places.len(), 3));
        for (i, mut frame) in positions.outer_iter_mut().enumerate() {
            let columns = batch.columns(i);
            for (mut row, &place) in frame.outer_iter_mut().zip(self.places.iter()) {
                let place = place as usize;
                (row[0], row[1], row[2]) = (columns.x[place], columns.y[place], columns.z[place]);
            }
        }
        positions
    }

    /// Returns the members of each group in each frame; an empty list if no group changes.
    pub(crate) fn current(&mut self, batch: &FrameBatch) -> Result<Current> {
        if !self.groups.iter().any(Group::is_changing) {
            return Ok(Vec::new());
        }
        let mut all = Vec::with_capacity(self.groups.len());
        for group in &mut self.groups {
            let mut of_frames = Vec::with_capacity(batch.len());
            for i in 0..batch.len() {
                let Some(members) = group.current(batch, i)? else { break };
                of_frames.push(members.to_vec());
            }
            all.push(group.is_changing().then_some(of_frames));
        }
        Ok(all)
    }
}

/// Converts frames to the arguments of a Python function.
pub(crate) fn batch_of<'py>(
    py: Python<'py>,
    batch: &FrameBatch,
    positions: Array3<f32>,
    current: Current,
) -> PyResult<Batch<'py>> {
    let headers = batch.headers();
    let frames: Vec<u64> = headers.iter().map(|header| header.index).collect();
    let times: Vec<f64> = headers.iter().map(|header| header.time).collect();
    let dimensions = cells(headers, |cell| cell.dimensions().to_vec()).into_pyarray(py).reshape([headers.len(), 6])?;
    let arrays = |of_frames: Vec<Vec<u32>>| of_frames.into_iter().map(|one| one.into_pyarray(py)).collect();
    let members = current.into_iter().map(|group| group.map(arrays)).collect();
    Ok((frames.into_pyarray(py), times.into_pyarray(py), dimensions, positions.into_pyarray(py), members))
}
