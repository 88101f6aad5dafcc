//! Selections that are evaluated again in each frame.

use std::sync::Arc;

use mdreel_core::frame::{FrameBatch, FrameHeader, Quantities};
use mdreel_core::kernel::group::Group;
use mdreel_core::kernel::selected::Selected;
use mdreel_core::selection::{Centre, Comparison, Distance, Expression, Selecting, Selection};
use mdreel_core::unit_cell::UnitCell;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::computation::Computation;
use crate::error::to_python;
use crate::kernels::copied;

/// A selection among `n_atoms` atoms that is evaluated again in each frame.
///
/// `tree` is a tuple of the name of an expression and its operands, which may be other trees. See
/// `mdreel.trajectory.selection_tree`.
#[pyclass(frozen, module = "mdreel._core")]
pub struct FrameSelection {
    selection: Arc<Selection>,
    tree: Py<PyTuple>,
}

#[pymethods]
impl FrameSelection {
    #[new]
    fn new(py: Python<'_>, n_atoms: usize, tree: Bound<'_, PyTuple>) -> PyResult<Self> {
        let selection = Selection::new(n_atoms, expression(&tree)?).map_err(|error| to_python(py, error))?;
        Ok(FrameSelection { selection: Arc::new(selection), tree: tree.unbind() })
    }

    /// Number of atoms of the complete system.
    #[getter]
    fn n_atoms(&self) -> usize {
        self.selection.n_atoms()
    }

    /// Indices of the atoms whose positions may be needed, in ascending order.
    #[getter]
    fn needed<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        self.selection.needed().into_pyarray(py)
    }

    /// Indices of the atoms that may be selected, in ascending order.
    #[getter]
    fn possible<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        self.selection.possible().into_pyarray(py)
    }

    /// Return the selection for frames that contain these atoms, in ascending order.
    fn among(slf: &Bound<'_, Self>, atoms: PyReadonlyArray1<'_, u32>) -> PyResult<SelectedAtoms> {
        SelectedAtoms::new(slf.py(), slf.clone().unbind(), atoms)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> (Bound<'py, PyAny>, (usize, Bound<'py, PyTuple>)) {
        (py.get_type::<Self>().into_any(), (self.selection.n_atoms(), self.tree.bind(py).clone()))
    }
}

/// A selection in frames that contain given atoms.
#[pyclass(frozen, module = "mdreel._core")]
pub struct SelectedAtoms {
    selecting: Selecting,
    n_atoms: usize,
    selection: Py<FrameSelection>,
    atoms: Py<PyArray1<u32>>,
}

impl SelectedAtoms {
    /// Returns the selection, for a computation.
    pub(crate) fn selecting(&self) -> Selecting {
        self.selecting.clone()
    }
}

#[pymethods]
impl SelectedAtoms {
    #[new]
    fn new(py: Python<'_>, selection: Py<FrameSelection>, atoms: PyReadonlyArray1<'_, u32>) -> PyResult<Self> {
        let given = atoms.as_array().to_vec();
        let selecting = Selecting::new(Arc::clone(&selection.get().selection), &given);
        let selecting = selecting.map_err(|error| to_python(py, error))?;
        Ok(SelectedAtoms { selecting, n_atoms: given.len(), selection, atoms: given.into_pyarray(py).unbind() })
    }

    /// Return the indices of the atoms that are selected at these positions.
    ///
    /// `positions` has the shape (n_atoms, 3), Å. `dimensions` are the lengths (Å) and angles (degrees) of the cell, or None
    /// without a cell.
    #[pyo3(signature = (positions, dimensions))]
    fn find<'py>(
        &self,
        py: Python<'py>,
        positions: PyReadonlyArray2<'py, f32>,
        dimensions: Option<[f32; 6]>,
    ) -> PyResult<Bound<'py, PyArray1<u32>>> {
        let mut batch = FrameBatch::with_capacity(self.n_atoms, 1);
        let (unit_cell, present) = (dimensions.map(UnitCell::Dimensions), Quantities::POSITIONS);
        let columns = batch.push(FrameHeader { index: 0, step: 0, time: 0.0, unit_cell, lambda: None, present });
        let positions = positions.as_array();
        if positions.dim() != (self.n_atoms, 3) {
            let message = format!("positions have the shape {:?}, expected ({}, 3)", positions.shape(), self.n_atoms);
            return Err(PyValueError::new_err(message));
        }
        for (axis, column) in [columns.x, columns.y, columns.z].into_iter().enumerate() {
            column.iter_mut().zip(positions.column(axis)).for_each(|(value, &at)| *value = at);
        }
        let found = py.detach(|| self.selecting().find(&batch, 0).map(<[u32]>::to_vec));
        Ok(found.map_err(|error| to_python(py, error))?.into_pyarray(py))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> (Bound<'py, PyAny>, Pieces<'py>) {
        (py.get_type::<Self>().into_any(), (self.selection.bind(py).clone(), self.atoms.bind(py).clone()))
    }
}

/// A group of atoms for a computation: their places; or their places, a selection, and for each place the atom of the complete
/// system that must be selected for the place to belong to the group.
#[derive(FromPyObject)]
pub(crate) enum Members<'py> {
    Fixed(PyReadonlyArray1<'py, u32>),
    Changing(PyReadonlyArray1<'py, u32>, Py<SelectedAtoms>, PyReadonlyArray1<'py, u32>),
}

impl<'py> Members<'py> {
    /// Returns the group, for a computation.
    pub(crate) fn group(&self) -> mdreel_core::Result<Group> {
        match self {
            Members::Fixed(places) => Ok(places.as_array().to_vec().into()),
            Members::Changing(places, selected, keys) => {
                Group::changing(places.as_array().to_vec(), selected.get().selecting(), keys.as_array().to_vec())
            }
        }
    }

    /// Returns copies of the arrays, from which the same group can be made again. No other code can write to them.
    pub(crate) fn copied(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(match self {
            Members::Fixed(places) => copied(places).into_any(),
            Members::Changing(places, selected, keys) => {
                (copied(places), selected, copied(keys)).into_pyobject(py)?.into_any()
            }
        })
    }
}

/// The parts from which a pickled selection is made again.
type Pieces<'py> = (Bound<'py, FrameSelection>, Bound<'py, PyArray1<u32>>);

/// Create the computation of the number of selected atoms in each frame. With `keeps_ids`, its own value lists these atoms.
#[pyfunction]
pub(crate) fn selected(py: Python<'_>, atoms: Py<SelectedAtoms>, keeps_ids: bool) -> PyResult<Computation> {
    let chosen = atoms.get();
    let computation = Selected::new(chosen.n_atoms, chosen.selecting(), keeps_ids);
    Computation::new(py, Ok(computation), "selected", (atoms, keeps_ids))
}

type Tree<'py> = Bound<'py, PyTuple>;

fn expression(tree: &Tree<'_>) -> PyResult<Expression> {
    let name: String = tree.get_item(0)?.extract()?;
    let boxed = |i: usize| -> PyResult<Box<Expression>> { Ok(Box::new(expression(tree.get_item(i)?.cast()?)?)) };
    let each = || -> PyResult<Vec<Expression>> { tree.iter().skip(1).map(|node| expression(node.cast()?)).collect() };
    let axis = || tree.get_item(1)?.extract();
    Ok(match name.as_str() {
        "fixed" => Expression::Fixed(tree.get_item(1)?.extract::<PyReadonlyArray1<'_, u32>>()?.as_array().to_vec()),
        "group" => Expression::Group,
        "not" => Expression::Not(boxed(1)?),
        "and" => Expression::And(each()?),
        "or" => Expression::Or(each()?),
        "everywhere" => Expression::Everywhere(boxed(1)?),
        "within" => Expression::Within { group: boxed(1)?, of: boxed(2)? },
        "same" => {
            let labels: PyReadonlyArray1<'_, u32> = tree.get_item(1)?.extract()?;
            Expression::Same { labels: labels.as_array().to_vec(), of: boxed(2)? }
        }
        "same_coordinate" => Expression::SameCoordinate { axis: axis()?, of: boxed(2)? },
        "bonded" => {
            let bonds: PyReadonlyArray2<'_, u32> = tree.get_item(1)?.extract()?;
            let bonds = bonds.as_array().rows().into_iter().map(|row| [row[0], row[1]]).collect();
            Expression::Bonded { bonds, of: boxed(2)? }
        }
        "around" => Expression::Around { distance: distance(tree)?, of: boxed(2)? },
        "point" => {
            Expression::Sphere { distance: distance(tree)?, centre: Centre::Point(tree.get_item(2)?.extract()?) }
        }
        "sphere" => Expression::Sphere { distance: distance(tree)?, centre: Centre::Of(boxed(2)?) },
        "cylinder" => {
            Expression::Cylinder { distance: distance(tree)?, heights: tree.get_item(3)?.extract()?, of: boxed(2)? }
        }
        "coordinate" => {
            let (comparison, tolerances): (String, [f64; 2]) =
                (tree.get_item(3)?.extract()?, tree.get_item(5)?.extract()?);
            Expression::Coordinate {
                axis: axis()?,
                is_absolute: tree.get_item(2)?.extract()?,
                comparison: compare(&comparison, tolerances)?,
                value: tree.get_item(4)?.extract()?,
            }
        }
        other => return Err(PyValueError::new_err(format!("unknown expression {other}"))),
    })
}

/// Returns the distance of a tree: the inner and outer limit, and whether images count.
fn distance(tree: &Tree<'_>) -> PyResult<Distance> {
    let (inner, outer, is_periodic) = tree.get_item(1)?.extract()?;
    Ok(Distance { inner, outer, is_periodic })
}

fn compare(name: &str, [absolute, relative]: [f64; 2]) -> PyResult<Comparison> {
    Ok(match name {
        "<" => Comparison::Less,
        "<=" => Comparison::LessEqual,
        ">" => Comparison::Greater,
        ">=" => Comparison::GreaterEqual,
        "!=" => Comparison::NotEqual,
        "==" => Comparison::Close { absolute, relative },
        other => return Err(PyValueError::new_err(format!("unknown comparison {other}"))),
    })
}
