"""Tables and arrays with radial distribution functions of individual pairs of atoms."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from mdreel.results.column import Column, unique_names
from mdreel.results.labelled_array import LabelledArray
from mdreel.results.results import Results

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup


def site_columns(pairs: "Sequence[Sequence[AtomGroup]]", results: Results, unit: str) -> list[Column]:
    """Return columns with bin centres in Å, and with the function and the counts of each pair of atoms.

    After `InterRDF_s.get_cdf`, each pair also has a column with the cumulative fraction.

    Parameters
    ----------
    pairs : sequence of pairs of MDAnalysis.AtomGroup
        The groups.
    results : Results
        Results of `InterRDF_s`.
    unit : str
        Unit of the functions.
    """
    kinds = {"rdf": unit, "count": "", "cdf": ""}
    names, values = [], []
    for number, (first, second) in enumerate(pairs):
        found = {kind: results[kind][number] for kind in kinds if kind in results}
        for i, j in np.ndindex(len(first), len(second)):
            names.append(f"{first.ix[i]}_{second.ix[j]}")
            values.append({kind: of_pairs[i, j] for kind, of_pairs in found.items()})
    columns = [Column("r", "Å", results.bins)]
    for name, of_pair in zip(unique_names(names), values, strict=True):
        columns += [Column(f"{kind}_{name}", kinds[kind], one) for kind, one in of_pair.items()]
    return columns


def site_arrays(results: Results, units: Mapping[str, str]) -> list[LabelledArray]:
    """Return a separate array of each result for each pair of groups, because the groups may differ in size."""
    return [
        LabelledArray(f"{name}_{number}", (f"first_{number}", f"second_{number}", "bin"), units.get(name, ""), values)
        for name in ("count", "rdf", "cdf")
        for number, values in enumerate(results.get(name, ()), 1)
    ]


def site_coordinates(results: Results) -> list[LabelledArray]:
    """Return the indices of the atoms of each group as labels."""
    return [
        LabelledArray(f"{word}_{number}", (f"{word}_{number}",), "", indices)
        for number, atoms in enumerate(results.indices, 1)
        for word, indices in zip(("first", "second"), atoms, strict=True)
    ]
