//! Transformations of the positions of frames as they are read.

use std::sync::Arc;

use mdreel_core::source::Source;
use mdreel_core::transform as core;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::error::to_python;
use crate::kernels::{copied, points, rows};

/// A transformation of the positions in each frame. Unpickling creates it again from its arguments.
#[pyclass(frozen, module = "mdreel._core")]
pub struct Transformation {
    pub transform: Arc<dyn core::Transform>,
    maker: Py<PyAny>,
    arguments: Py<PyTuple>,
}

impl Transformation {
    fn new<'py>(
        py: Python<'py>,
        transform: mdreel_core::Result<impl core::Transform + 'static>,
        maker: &str,
        arguments: impl IntoPyObject<'py, Target = PyTuple, Output = Bound<'py, PyTuple>, Error = PyErr>,
    ) -> PyResult<Self> {
        let transform = Arc::new(transform.map_err(|error| to_python(py, error))?);
        let maker = py.import("mdreel._core")?.getattr(maker)?.unbind();
        Ok(Transformation { transform, maker, arguments: arguments.into_pyobject(py)?.unbind() })
    }
}

#[pymethods]
impl Transformation {
    /// Whether each frame depends on the previous one.
    #[getter]
    fn needs_order(&self) -> bool {
        self.transform.needs_order()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> (Bound<'py, PyAny>, Bound<'py, PyTuple>) {
        (self.maker.bind(py).clone(), self.arguments.bind(py).clone())
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let name: String = self.maker.bind(py).getattr("__name__")?.extract()?;
        Ok(format!("<Transformation {name} of {} atoms>", self.transform.named().len()))
    }
}

/// Transformations that are applied one after the other.
#[derive(Default)]
pub(crate) struct Chain(pub Vec<Py<Transformation>>);

impl Chain {
    /// Returns a source whose frames the transformations change.
    pub(crate) fn over(&self, source: Arc<dyn Source>) -> mdreel_core::Result<Arc<dyn Source>> {
        if self.0.is_empty() {
            return Ok(source);
        }
        let transforms = self.0.iter().map(|one| Arc::clone(&one.get().transform)).collect();
        Ok(Arc::new(core::Transformed::new(source, transforms)?))
    }

    /// Returns a copy of the chain.
    pub(crate) fn copy(&self, py: Python<'_>) -> Self {
        Chain(self.0.iter().map(|one| one.clone_ref(py)).collect())
    }

    /// Returns this chain followed by `more`.
    pub(crate) fn then(&self, py: Python<'_>, more: Self) -> Self {
        Chain(self.copy(py).0.into_iter().chain(more.0).collect())
    }
}

/// The atoms of compounds, one compound after the other, and the end of each compound.
type Groups<'py> = (PyReadonlyArray1<'py, u32>, PyReadonlyArray1<'py, u64>);

fn compounds(
    (atoms, ends): &Groups<'_>,
    weights: Option<&PyReadonlyArray1<'_, f64>>,
) -> mdreel_core::Result<core::Compounds> {
    let ends = ends.as_array().iter().map(|&end| end as usize).collect();
    core::Compounds::new(atoms.as_array().to_vec(), ends, weights.map(|weights| weights.as_array().to_vec()))
}

type Forest<'py> = (Bound<'py, PyArray1<u32>>, Bound<'py, PyArray1<u64>>, Bound<'py, PyArray1<u64>>);

/// Return the trees of bonds that connect the atoms of molecules, in breadth-first order from the root of each molecule.
///
/// `bonds` has the shape (n_bonds, 2). The result contains the atoms, uint32, the end of each molecule among them, uint64, and the
/// position of each atom's parent among them, uint64.
#[pyfunction]
pub(crate) fn spanning_forest<'py>(
    py: Python<'py>,
    n_atoms: usize,
    bonds: PyReadonlyArray2<'py, u32>,
    roots: PyReadonlyArray1<'py, u32>,
) -> PyResult<Forest<'py>> {
    let bonds = rows::<u32, 2>(&bonds, "a bond has 2 atoms")?;
    let forest = core::SpanningForest::new(n_atoms, &bonds, &roots.as_array().to_vec());
    let core::SpanningForest { atoms, ends, parents } = forest.map_err(|error| to_python(py, error))?;
    Ok((atoms.into_pyarray(py), ends.into_pyarray(py), parents.into_pyarray(py)))
}

/// Create the transformation that makes compounds whole.
///
/// `parents` contains the position of each atom's parent among the atoms of all compounds. With `is_centered`, the transformation
/// also moves the centre of each compound into the cell.
#[pyfunction]
#[pyo3(signature = (groups, parents, weights, is_centered))]
pub(crate) fn whole<'py>(
    py: Python<'py>,
    groups: Groups<'py>,
    parents: PyReadonlyArray1<'py, u64>,
    weights: Option<PyReadonlyArray1<'py, f64>>,
    is_centered: bool,
) -> PyResult<Transformation> {
    let transform = compounds(&groups, weights.as_ref()).and_then(|compounds| {
        let parents = parents.as_array().iter().map(|&parent| parent as usize).collect();
        core::Whole::new(compounds, parents, is_centered)
    });
    let groups = (copied(groups.0), copied(groups.1));
    Transformation::new(py, transform, "whole", (groups, copied(parents), weights.map(copied), is_centered))
}

/// Create the transformation that moves the centre of each compound into the cell.
#[pyfunction]
#[pyo3(signature = (groups, weights))]
pub(crate) fn wrapped<'py>(
    py: Python<'py>,
    groups: Groups<'py>,
    weights: Option<PyReadonlyArray1<'py, f64>>,
) -> PyResult<Transformation> {
    let transform = compounds(&groups, weights.as_ref()).map(core::Wrap::new);
    let groups = (copied(groups.0), copied(groups.1));
    Transformation::new(py, transform, "wrapped", (groups, weights.map(copied)))
}

/// Create the transformation that moves all atoms so that the centre of `atoms` is at a target.
///
/// The target is `point` (Å), or the middle of the cell if `point` is None. With `is_wrapped`, the centre is computed from the
/// images of the atoms in the primary cell.
#[pyfunction]
#[pyo3(signature = (atoms, weights, point, is_wrapped))]
pub(crate) fn centered<'py>(
    py: Python<'py>,
    atoms: PyReadonlyArray1<'py, u32>,
    weights: Option<PyReadonlyArray1<'py, f64>>,
    point: Option<[f64; 3]>,
    is_wrapped: bool,
) -> PyResult<Transformation> {
    let given = weights.as_ref().map(|weights| weights.as_array().to_vec());
    let target = point.map_or(core::Target::Cell, core::Target::Point);
    let transform = core::Compounds::new(atoms.as_array().to_vec(), vec![atoms.len()], given)
        .and_then(|group| core::Center::new(group, target, is_wrapped));
    Transformation::new(py, transform, "centered", (copied(atoms), weights.map(copied), point, is_wrapped))
}

/// Create the transformation that shifts and rotates all atoms so that `atoms` best match a reference, shape (n_atoms, 3), Å.
#[pyfunction]
#[pyo3(signature = (atoms, reference, weights))]
pub(crate) fn superposed<'py>(
    py: Python<'py>,
    atoms: PyReadonlyArray1<'py, u32>,
    reference: PyReadonlyArray2<'py, f64>,
    weights: Option<PyReadonlyArray1<'py, f64>>,
) -> PyResult<Transformation> {
    let given = weights.as_ref().map(|weights| weights.as_array().to_vec());
    let transform = core::Superposed::new(atoms.as_array().to_vec(), &points(&reference)?, given.as_deref());
    Transformation::new(py, transform, "superposed", (copied(atoms), copied(reference), weights.map(copied)))
}

/// Create the transformation that removes the jumps of all atoms across periodic boundaries. `scheme` is `lattice` or `toroidal`.
#[pyfunction]
pub(crate) fn without_jumps(py: Python<'_>, scheme: &str) -> PyResult<Transformation> {
    let transform = core::Scheme::from_name(scheme).map(core::NoJump);
    Transformation::new(py, transform, "without_jumps", (scheme,))
}
