"""Results of analyses in a form that does not depend on how atoms are numbered, or where a circle is cut."""

from typing import Any

import numpy as np

from mdreel.analysis.base.analysis import Analysis


def arrays_in(value: Any) -> list[np.ndarray]:
    """Numbers in what an analysis has found."""
    if isinstance(value, dict):
        value = [value[name] for name in sorted(value)]
    if isinstance(value, (list, tuple)):
        return [array for one in value for array in arrays_in(one)]
    return [np.asarray(value)] if isinstance(value, (np.ndarray, float, int, np.generic)) else []


def by_ids(analysis: Analysis, name: str) -> np.ndarray:
    """Values of atoms in the order of the residues."""
    values: np.ndarray = analysis.results[name][np.argsort(analysis.atomgroup.ids)]
    return values


def on_the_circle(analysis: Analysis) -> list[np.ndarray]:
    """Angles where 180 degrees are -180."""
    angles = np.radians(analysis.results.angles)
    return [np.cos(angles), np.sin(angles)]


def bonds_by_ids(analysis: Any) -> list[np.ndarray]:
    """Hydrogen bonds whose atoms go by the order of the residues."""
    hbonds = analysis.results.hbonds.copy()
    hbonds[:, 1:4] = analysis.atomgroup.universe.atoms.ids[hbonds[:, 1:4].astype(int)]
    return [hbonds[np.lexsort(hbonds[:, 3::-1].T)]]


def bridges_by_ids(analysis: Any) -> list[np.ndarray]:
    """Hydrogen bonds of bridges whose atoms go by the order of the residues, and the numbers of bridges."""
    found = analysis.results
    ids = np.append(analysis.u.atoms.ids, -1)[found.bonds]
    frames = np.repeat(np.arange(len(found.counts)), np.diff(found.offsets))
    rows = np.column_stack([frames, ids, found.distances, found.angles])
    return [rows[np.lexsort(rows[:, 4::-1].T)], found.counts, found.starts]


def contacts_by_ids(analysis: Any) -> list[np.ndarray]:
    """Frequencies of the contacts by the numbers of the residues, and the number of contacts in each frame."""
    resids = analysis.atomgroup.universe.residues.resids[analysis.results.pairs]
    resids.sort(axis=1)
    statistics = [analysis.results[name] for name in ("frequency", "mean", "minimum", "events", "first_frame")]
    rows = np.column_stack([resids, *statistics])
    return [rows[np.lexsort(resids.T)], analysis.results.counts]


def interactions_by_ids(analysis: Any) -> list[np.ndarray]:
    """Interactions by the numbers of the residues, the smaller one first, and their number in each frame."""
    other_way = {"HBDonor": "HBAcceptor", "Cationic": "Anionic", "CationPi": "PiCation"}
    other_way |= {other: name for name, other in other_way.items()}
    found = analysis.results
    resids = analysis.atomgroup.universe.residues.resids[found.pairs]
    is_once = len(analysis._groups) == 1
    is_swapped = is_once & (resids[:, 0] > resids[:, 1])
    resids[is_swapped] = resids[is_swapped, ::-1]
    names = np.where(is_swapped, [other_way.get(name, name) for name in found.interactions], found.interactions)
    order = np.lexsort([names, *resids.T[::-1]])
    _, numbers = np.unique(names[order], return_inverse=True)
    occurrences = np.bincount(found.entries, found.occurrences, minlength=len(resids))
    return [resids[order], numbers, found.frequency[order], occurrences[order], found.counts]
