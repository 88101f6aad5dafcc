"""Overlaps of principal components."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from operator import index
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mdreel.analysis.base.analysis import Analysis
from mdreel.analysis.topology.matching import MASS_TOLERANCE, Matching
from mdreel.analysis.topology.residue_labels import atom_coordinates
from mdreel.errors import AtomOrderWarning, MismatchError
from mdreel.foundation.arguments import checked_arguments_but
from mdreel.foundation.stack_level import caller_level
from mdreel.results.column import Column
from mdreel.results.labelled_array import LabelledArray

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup


class ComponentAnalysis(Analysis):
    """Base class for analyses that compute principal components, with methods to compare them. See `mdreel.PCA`."""

    _units = MappingProxyType({"variance": "Å^2", "mean": "Å", "covariance": "Å^2"})
    _result_dimensions = MappingProxyType(
        {
            "p_components": ("coordinate", "component"),
            "variance": ("component",),
            "cumulated_variance": ("component",),
            "mean": ("atom", "axis"),
            "covariance": ("coordinate", "other_coordinate"),
        }
    )

    def columns(self) -> Sequence[Column]:
        """Return columns with the number, the variance and the cumulative variance of each component."""
        variance = self.results.variance
        return [
            Column("component", "", np.arange(1, len(variance) + 1)),
            Column("variance", "Å^2", variance),
            Column("cumulated_variance", "", self.results.cumulated_variance),
        ]

    def _result_coordinates(self) -> list[LabelledArray]:
        components = LabelledArray("component", ("component",), "", np.arange(1, len(self.results.variance) + 1))
        return [*super()._result_coordinates(), *atom_coordinates(self.atomgroup), components]

    @checked_arguments_but("other")
    def rmsip(
        self,
        other: ComponentAnalysis,
        n_components: int | Sequence[int] | None = None,
        *,
        tol_mass: float = MASS_TOLERANCE,
        match_atoms: bool | None = None,
    ) -> float:
        """Return the similarity of the spaces spanned by two sets of components. See `mdreel.analysis.pca.rmsip`.

        Parameters
        ----------
        other : PCA
            The other analysis. It must have been run.
        n_components : int or (int, int), optional
            Number of components to use from both analyses, or two numbers, one for each. The default is all components.
        tol_mass, match_atoms
            See `transform`.

        Raises
        ------
        MismatchError
            If one of the analyses has not been run or has too few components, or if the numbers of atoms differ.

        Examples
        --------
        >>> import MDAnalysis as mda
        >>> import mdreel
        >>> from MDAnalysisTests.datafiles import DCD, PSF
        >>> alpha = mda.Universe(PSF, DCD).select_atoms("name CA")
        >>> first, second = mdreel.PCA(alpha, align=True).run(stop=49), mdreel.PCA(alpha, align=True).run(start=49)
        >>> 0 < first.rmsip(second, n_components=10) < 1
        True
        """
        return rmsip(*self._components_of_both(other, "rmsip", tol_mass, match_atoms), n_components)

    @checked_arguments_but("other")
    def cumulative_overlap(
        self,
        other: ComponentAnalysis,
        i: int = 0,
        n_components: int | None = None,
        *,
        tol_mass: float = MASS_TOLERANCE,
        match_atoms: bool | None = None,
    ) -> float:
        """Return the overlap of a component with the space spanned by other components.

        Parameters
        ----------
        other : PCA
            The other analysis. It must have been run.
        i : int
            Index of the component of this analysis.
        n_components : int, optional
            Number of components of `other` to use. By default, all components are used.
        tol_mass, match_atoms
            See `transform`.

        Raises
        ------
        MismatchError
            If one of the analyses has not been run, or if the numbers of atoms differ.

        Examples
        --------
        >>> import MDAnalysis as mda
        >>> import mdreel
        >>> from MDAnalysisTests.datafiles import DCD, PSF
        >>> alpha = mda.Universe(PSF, DCD).select_atoms("name CA")
        >>> first, second = mdreel.PCA(alpha, align=True).run(stop=49), mdreel.PCA(alpha, align=True).run(start=49)
        >>> 0 < first.cumulative_overlap(second, i=0, n_components=10) < 1
        True
        """
        a, b = self._components_of_both(other, "cumulative_overlap", tol_mass, match_atoms)
        return cumulative_overlap(a, b, i, n_components)

    def check_run(self, purpose: str) -> None:
        """Raise an error if the analysis has not been run."""
        if self._outcome is None:
            raise MismatchError(f"Call run() on the PCA before {purpose}")

    def _components_of_both(
        self, other: ComponentAnalysis, purpose: str, tol_mass: float, match_atoms: bool | None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the components of this and another analysis of the same atoms, as rows."""
        self.check_run(f"using {purpose}")
        if not isinstance(other, ComponentAnalysis):
            raise MismatchError(f"other must be another PCA class of mdreel, not {type(other).__name__}")
        other.check_run(f"comparing it with another by {purpose}")
        if len(self.atomgroup) == len(other.atomgroup):  # for different numbers, the components raise the error
            check_atoms(self.atomgroup, other.atomgroup, "the other components", tol_mass, match_atoms)
        return self.results.p_components.T, other.results.p_components.T


def rmsip(a: NDArray[np.float64], b: NDArray[np.float64], n_components: int | Sequence[int] | None = None) -> float:
    """Return the root mean square inner product of two sets of components.

    Parameters
    ----------
    a, b : ndarray, shape (n, n_coordinates), float64
        Components as rows, such as ``pca.results.p_components.T``.
    n_components : int or (int, int), optional
        Number of components to use from both sets, or two numbers, one for `a` and one for `b`. The default is all
        components.

    Returns
    -------
    float
        ``sqrt(sum_ij (a_i . b_j)^2 / n)`` for n components of `a`. The value is 0 for orthogonal and 1 for identical
        spaces (A. Amadei et al., Proteins 36 (1999) 419-424).

    Raises
    ------
    MismatchError
        If the components have different lengths, or if there are fewer than `n_components`.

    Examples
    --------
    >>> import numpy as np
    >>> from mdreel.analysis.pca import rmsip
    >>> bool(np.isclose(rmsip(np.eye(3)[:2], np.eye(3)[:2]), 1))
    True
    """
    a, b = _same_length(a, b)
    wanted = tuple(n_components) if isinstance(n_components, Sequence | np.ndarray) else (n_components,)
    if len(wanted) not in (1, 2):
        expected = "Too many values" if wanted else "No value"
        raise MismatchError(f"{expected} for n_components, {n_components!r}: expected one, or one for each set")
    a, b = _first_of(a, wanted[0]), _first_of(b, wanted[-1])
    return float(np.sqrt(((a @ b.T) ** 2).sum() / len(a)))


def cumulative_overlap(
    a: NDArray[np.float64], b: NDArray[np.float64], i: int = 0, n_components: int | None = None
) -> float:
    """Return the overlap of a component with the space spanned by other components.

    Parameters
    ----------
    a, b : ndarray, shape (n, n_coordinates), float64
        Components as rows, such as ``pca.results.p_components.T``.
    i : int
        Index of the component of `a`.
    n_components : int, optional
        Number of components of `b` to use. By default, all components are used.

    Returns
    -------
    float
        ``sqrt(sum_j (a_i . b_j)^2)``. The value is 0 if the component is orthogonal to all others, and 1 if it lies in
        the space that they span (L. Yang et al., Structure 16 (2008) 321-330).

    Raises
    ------
    MismatchError
        If the components have different lengths.

    Examples
    --------
    >>> import numpy as np
    >>> from mdreel.analysis.pca import cumulative_overlap
    >>> float(cumulative_overlap(np.eye(3)[:1], np.eye(3)[1:], i=0))
    0.0
    """
    a, b = _same_length(a, b)
    if not -len(a) <= i < len(a):
        raise MismatchError(f"i must be the index of one of {len(a)} components, not {i}")
    return float(np.sqrt(((b[:n_components] @ a[i]) ** 2).sum()))


def _same_length(a: ArrayLike, b: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    first, second = np.atleast_2d(np.asarray(a, np.float64)), np.atleast_2d(np.asarray(b, np.float64))
    if first.shape[1] != second.shape[1]:
        raise MismatchError(f"components have {first.shape[1]} and {second.shape[1]} coordinates")
    return first, second


def _first_of(components: NDArray[np.float64], n_components: int | None) -> NDArray[np.float64]:
    if n_components is not None and not 1 <= index(n_components) <= len(components):
        raise MismatchError(f"n_components must be 1 to {len(components)}, not {n_components}")
    return components[:n_components]


def check_atoms(
    atomgroup: AtomGroup, reference: AtomGroup, name: str, tol_mass: float, match_atoms: bool | None
) -> None:
    """Check that atoms correspond. If `match_atoms` is None, a mismatch triggers only a warning."""
    try:
        Matching(tol_mass, match_atoms is not False).check(atomgroup, reference, name)
    except MismatchError as error:
        if match_atoms:
            raise
        warnings.warn(str(error), AtomOrderWarning, stacklevel=caller_level())
