"""Interaction fingerprints of two groups in each frame."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mdreel._core import Computation, Source, interaction_fingerprint
from mdreel.analysis.fingerprints.bridge_settings import BridgeSettings
from mdreel.analysis.fingerprints.chemistry import Chemistry
from mdreel.analysis.fingerprints.fingerprint_tables import FingerprintTables
from mdreel.analysis.fingerprints.interactions import BRIDGE, DEFINITIONS, RADII, chosen_interactions, numbers_of
from mdreel.analysis.fingerprints.perception import perceive
from mdreel.analysis.fingerprints.sites import FINDERS
from mdreel.analysis.periodic.boundaries import Boundaries
from mdreel.errors import MdreelWarning, MismatchError
from mdreel.execution.tally import Tally
from mdreel.foundation.arguments import checked_arguments
from mdreel.foundation.stack_level import caller_level
from mdreel.trajectory.opener import Trajectory
from mdreel.trajectory.selection import Atoms, Selection, atoms_of

if TYPE_CHECKING:
    from MDAnalysis import AtomGroup


_Sites: TypeAlias = tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[np.uint32], NDArray[np.float64]]
_Bond: TypeAlias = tuple[int, str, Sequence[float], _Sites, _Sites, bool]
_Bridges: TypeAlias = tuple[int, tuple[int, int], Sequence[_Bond]]


class InteractionFingerprint(FingerprintTables):
    """Find the interactions between the residues of two groups over a trajectory.

    Parameters
    ----------
    atomgroup : MDAnalysis.AtomGroup or Universe
        First group, such as a ligand. Names of interactions describe its role. For example, it has the donor in
        ``HBDonor``.
    other : MDAnalysis.AtomGroup or Universe, optional
        Second group, such as a protein. By default, we look for interactions within the first group, and use pairs of
        residues only once. If residues belong to both groups, these pairs will be found in both orders, as in ProLIF.
    interactions : sequence of str, or "all", optional
        Interactions to find: ``Hydrophobic``, ``HBAcceptor``, ``HBDonor``, ``XBAcceptor``, ``XBDonor``, ``Cationic``,
        ``Anionic``, ``CationPi``, ``PiCation``, ``FaceToFace``, ``EdgeToFace``, ``PiStacking``, ``MetalDonor``,
        ``MetalAcceptor``, ``VdWContact``, ``WaterBridge``. The default is that of ProLIF: all except ``WaterBridge``
        and those of halogens and metals, and ``PiStacking`` for both kinds of stacking. As ``WaterBridge`` needs
        parameters, it is not included in ``"all"``.
    parameters : mapping of str to mapping, optional
        Parameters to use instead of the defaults, under the names that ProLIF gives them, such as
        ``{"Hydrophobic": {"distance": 4.0}}``. Distances are in Å and angles in degrees. For ``WaterBridge``, you need
        to pass the group of all waters: ``{"WaterBridge": {"water": u.select_atoms("resname SOL"), "order": 2}}``. Its
        other parameters are ``min_order``, and ``hbdonor`` and ``hbacceptor`` with parameters of hydrogen bonds.
    atom_indices : bool
        Whether to keep the atoms and the distances of all occurrences of an interaction.
    pbc : bool
        Whether to use minimum images in frames that have a cell.
    trajectory : path, sequence of paths, or Source, optional
        Trajectory to analyse instead of the Universe's trajectory. In this case, the Universe only needs a topology.
    verbose : bool
        Whether `run` shows a progress bar by default.

    Attributes
    ----------
    results.pairs : ndarray, shape (n_columns, 2), int64
        Indices in the Universe of two residues that interact at any time. Each of their interactions has a column.
        Pairs are in ascending order.
    results.interactions : ndarray, shape (n_columns,), str
        Names of the interactions.
    results.frequency : ndarray, shape (n_columns,), float64
        Fraction of the frames in which the residues interact in this way.
    results.counts : ndarray, shape (n_frames,), int64
        Number of columns that are present in each frame.
    results.entries : ndarray, shape (n_entries,), uint32
        Columns that are present, frame after frame, in ascending order within a frame.
    results.occurrences : ndarray, shape (n_entries,), uint32
        Number of pairs of atoms, bonded atoms or rings that interact, for each entry.
    results.offsets : ndarray, shape (n_frames + 1,), int64
        The entries of frame ``i`` are ``entries[offsets[i]:offsets[i + 1]]``.
    results.sites : ndarray, shape (n_occurrences, 2), uint32
        Sites in each group that take part in an occurrence; to find their atoms, use `occurrences_in`. Only available
        with ``atom_indices=True``.
    results.distances : ndarray, shape (n_occurrences,), float32
        Distance of each occurrence in Å. For a water bridge, this is the sum of the distances of its hydrogen bonds.
        Only available with ``atom_indices=True``.
    results.n_waters : ndarray, shape (n_occurrences,), uint8
        Number of waters in each occurrence, which is 0 except in water bridges. Only available with ``WaterBridge`` and
        ``atom_indices=True``.
    results.waters : ndarray, shape (n_waters_of_all,), uint32
        Indices of the residues of these waters in the Universe, one occurrence after the other, always from the first
        group to the second. Only available with ``WaterBridge`` and ``atom_indices=True``.

    Raises
    ------
    SelectionError
        When a group is empty, or a residue cannot be perceived by RDKit.
    MissingDataError
        When your topology lacks names, hydrogens, or bonds that cannot be guessed. This error is also a
        `SelectionError` and MDAnalysis's NoDataError.
    MismatchError
        When an interaction or a parameter is unknown or not valid, an element has no van der Waals radius, or your
        groups are in different Universes. In `run`, when a distance exceeds half of the shortest lattice vector.
    UnsupportedError
        When a residue is not an amino acid, a nucleotide, water or an ion, and RDKit is not installed. When a group is
        an UpdatingAtomGroup (this error is also a TypeError).

    Warns
    -----
    MdreelWarning
        When no interaction can be found, because none of your atoms can take part in it.
    UnitWarning
        When a distance was probably given in nm.

    Notes
    -----
    We use the definitions and default parameters of ProLIF 2 (C. Bouysset and S. Fiorucci, J. Cheminform. 13, 72,
    2021). A water bridge is a chain of hydrogen bonds that leads from the first group through one or more different
    waters to the second group. All of these chains are occurrences. In a bond of such a chain, one of the residues is
    nearer to the first group. If it accepts, the limits ``hbacceptor`` apply, and if it donates, ``hbdonor``. A residue
    cannot be both an end and a water of the same bridge.

    Before the frames are read, the chemistry of all residues is perceived once. Pairs of sites are found using a cell
    list. Calculations use float64. A residue does not interact with itself.

    You will need 8 bytes of memory per entry, 24 bytes per frame, and about 100 bytes per column. If you use
    ``atom_indices=True``, another 12 bytes per occurrence are needed. All of this doubles while blocks are merged. The
    results are bitwise identical for every executor and any number of workers and blocks.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> from MDAnalysisTests.datafiles import DCD, PSF
    >>> from mdreel.analysis import InteractionFingerprint
    >>> u = mda.Universe(PSF, DCD)
    >>> lid, core = u.select_atoms("resid 122:159"), u.select_atoms("resid 1:121 160:214")
    >>> fingerprint = InteractionFingerprint(lid, core, ["HBDonor", "HBAcceptor", "Cationic", "Anionic"]).run()
    >>> fingerprint.edge_list(min_frequency=0.9)[0][:2]
    ('LYS 136', 'ASP 118')
    """

    _units = MappingProxyType({"distances": "Å", "counts": "", "frequency": "", "n_waters": ""})
    _result_dimensions = MappingProxyType(
        {
            "pairs": ("column", "side"),
            "interactions": ("column",),
            "frequency": ("column",),
            "counts": ("frame",),
            "entries": ("entry",),
            "occurrences": ("entry",),
            "offsets": ("edge",),
            "sites": ("occurrence", "side"),
            "distances": ("occurrence",),
            "n_waters": ("occurrence",),
            "waters": ("water",),
        }
    )

    @checked_arguments
    def __init__(
        self,
        atomgroup: Atoms,
        other: Atoms | None = None,
        interactions: Sequence[str] | str | None = None,
        parameters: Mapping[str, Mapping[str, Any]] | None = None,
        *,
        atom_indices: bool = False,
        pbc: bool = True,
        trajectory: Trajectory | None = None,
        verbose: bool = False,
    ) -> None:
        self._names = chosen_interactions(interactions)
        parameters = {} if parameters is None else parameters
        unknown = [name for name in parameters if name not in self._names]
        if unknown:
            raise MismatchError(f"parameters names {unknown[0]!r}, which is not one of the chosen interactions")
        single = [name for name in self._names if name != BRIDGE]
        self._numbers = {name: numbers_of(name, parameters.get(name, {})) for name in single}
        first = atoms_of(atomgroup, name="atomgroup")
        Selection.of(first, "atomgroup")
        self._bridge = BridgeSettings.of(parameters.get(BRIDGE, {}), first.universe) if BRIDGE in self._names else None
        self._groups = [first.unique]
        if other is not None:
            second = atoms_of(other, name="other")
            Selection.of(second, "other")
            if second.universe is not first.universe:
                raise MismatchError("other is in another Universe: both groups must be in the same one")
            self._groups.append(second.unique)
        self._keeps_atoms, self._pbc = bool(atom_indices), bool(pbc)
        self._radii = _radii(parameters.get(RADII, {}).get("vdwradii", {})) if RADII in self._names else {}
        self._find_sites()
        self._parts: dict[tuple[int, str, bool], _Sites] = {}
        self._warn_of_no_sites()
        super().__init__(self._atoms_of_sites(), trajectory, verbose=verbose)

    def _find_sites(self) -> None:
        """Find the atoms of the sites of each kind in both groups."""
        wanted = {kind for name in self._numbers for kind in DEFINITIONS[name].parts}
        groups = list(self._groups)
        if self._bridge is not None:
            wanted |= {"acceptors", "donors"}
            groups.append(self._bridge.water)
        together = sum(groups[1:], start=groups[0]).unique
        chemistry = perceive(together, "atomgroup" if len(self._groups) == 1 else "the groups")
        every = {kind: FINDERS[kind](chemistry) for kind in sorted(wanted)}
        indices = chemistry.atoms.ix
        self._sites: list[dict[str, list[tuple[int, ...]]]] = []
        for group in (self._groups[0], self._groups[-1], *groups[len(self._groups) :]):
            is_here = np.isin(indices, group.ix).tolist()
            self._sites.append(
                {kind: [site for site in sites if all(is_here[atom] for atom in site)] for kind, sites in every.items()}
            )
        if RADII in self._names:
            self._check_radii(chemistry)
        self._elements = np.array(chemistry.elements)
        # From numbers in the chemistry to indices in the Universe.
        self._indices = np.asarray(indices, np.int64)

    def _warn_of_no_sites(self) -> None:
        """Warn if no interaction can be found, because the groups have no atoms that take part in it."""
        first, second = self._sites[:2]
        for name in self._numbers:
            definition = DEFINITIONS[name]
            sides = (second, first) if definition.is_swapped else (first, second)
            if all(sites[kind] for sites, kind in zip(sides, definition.parts, strict=True)):
                return
        if self._bridge is not None and all(sites["acceptors"] or sites["donors"] for sites in self._sites):
            return
        message = f"the groups have no atoms that can take part in {', '.join(self._names)}"
        remedy = "select whole residues, or choose other interactions"
        text = f"no interactions will be found, because {message}: {remedy}"
        warnings.warn(text, MdreelWarning, stacklevel=caller_level())

    def _atoms_of_sites(self) -> AtomGroup:
        """Return the atoms of all sites, or the first atom of the first group if there are no sites."""
        used = {atom for sites in self._sites[:2] for of_kind in sites.values() for site in of_kind for atom in site}
        for water in self._sites[2:]:
            used |= {atom for kind in ("acceptors", "donors") for site in water[kind] for atom in site}
        atoms = np.sort(self._indices[sorted(used)]) if used else self._groups[0].ix[:1]
        return self._groups[0].universe.atoms[atoms]

    def _check_radii(self, chemistry: Chemistry) -> None:
        """Check that the elements of all atoms have radii."""
        for sites in self._sites[:2]:
            for (atom,) in sites["atoms"]:
                element = chemistry.elements[atom]
                if element not in self._radii:
                    index = chemistry.atoms.ix[atom]
                    message = f"the element {element!r} of atom {index} has no van der Waals radius"
                    remedy = f"parameters={{'{RADII}': {{'vdwradii': {{'{element}': ...}}}}}}"
                    raise MismatchError(f"{message}: give one with {remedy}")

    @property
    def boundaries(self) -> Boundaries:
        """Requirements for molecules that cross the periodic boundary."""
        return Boundaries("distances and angles use minimum images, or with pbc=False no images", whole=not self._pbc)

    def computation(self, source: Source) -> Computation:
        """Return the computation that finds the interactions of each frame."""
        given = []
        for number, name in enumerate(self._numbers):
            definition = DEFINITIONS[name]
            sides = (1, 0) if definition.is_swapped else (0, 1)
            parts = [self._part(side, kind, name) for side, kind in zip(sides, definition.parts, strict=True)]
            for rule, numbers in zip(definition.rules, self._numbers[name], strict=True):
                given.append((number, rule, numbers, parts[0], parts[1], definition.is_swapped))
        is_periodic = None if self._pbc else False
        is_one_group = len(self._groups) == 1
        bridges = self._bridges()
        return interaction_fingerprint(len(self.atoms), given, is_periodic, is_one_group, self._keeps_atoms, bridges)

    def _bridges(self) -> _Bridges | None:
        """Return the number of the interaction, the fewest and most waters, and the hydrogen bonds of water bridges."""
        if self._bridge is None:
            return None
        settings, water = self._bridge, 2
        bonds: list[_Bond] = []
        # The residue that is named first accepts, and then donates.
        for first, second in ((0, water), (water, 1), (water, water)):
            accepting = (self._part(first, "acceptors", BRIDGE), self._part(second, "donors", BRIDGE))
            donating = (self._part(second, "acceptors", BRIDGE), self._part(first, "donors", BRIDGE))
            bonds += [
                (0, "angle", list(settings.accepting), *accepting, False),
                (0, "angle", list(settings.donating), *donating, True),
            ]
        return self._names.index(BRIDGE), settings.waters, bonds if settings.waters[1] > 1 else bonds[:4]

    def _part(self, side: int, kind: str, name: str) -> _Sites:
        """Return the offsets, the atoms, the residues and the radii of the sites of a group, computed once."""
        key = (side, kind, name == RADII)
        if key not in self._parts:
            self._parts[key] = self._arrays(*key)
        return self._parts[key]

    def _arrays(self, side: int, kind: str, has_radii: bool) -> _Sites:
        sites = self._sites[side][kind]
        starts = np.concatenate([[0], np.cumsum([len(site) for site in sites], dtype=np.int64)])
        numbers = np.fromiter((atom for site in sites for atom in site), np.int64)
        atoms = self._indices[numbers]
        residues = self._atomgroup.universe.atoms.resindices[atoms[starts[:-1]]] if len(sites) else atoms
        radii = [self._radii[element] for element in self._elements[numbers].tolist()] if has_radii else []
        return (
            starts.astype(np.uint32),
            np.searchsorted(self.atoms, atoms).astype(np.uint32),
            np.asarray(residues, np.uint32),
            np.array(radii, np.float64),
        )

    def conclude(self, tally: Tally) -> None:
        """Store the interactions with the indices of their residues in the Universe."""
        columns, entries, occurrences, kept = tally.own
        found = self.results
        found.pairs = columns[:, :2].astype(np.int64)
        found.interactions = np.array(self._names, np.str_)[columns[:, 2].astype(np.intp)]
        found.counts = tally.values[:, 0].astype(np.int64)
        found.frequency = np.bincount(entries, minlength=len(columns)) / max(tally.n_frames, 1)
        found.entries, found.occurrences = entries, occurrences
        found.offsets = np.concatenate([[0], np.cumsum(found.counts)])
        if kept is not None:
            found.sites, found.distances, bridged = kept
            if bridged is not None:
                found.n_waters, found.waters = bridged


def _radii(changed: Any) -> dict[str, float]:
    """Return the van der Waals radius of each element in Å, from MDAnalysis or from the parameters."""
    from MDAnalysis.guesser.tables import vdwradii

    if not isinstance(changed, Mapping):
        raise MismatchError(f"vdwradii of {RADII} must map elements to radii in Å, not {changed!r}")
    radii = {element.capitalize(): float(radius) for element, radius in (*vdwradii.items(), *changed.items())}
    for element, radius in radii.items():
        if not 0 <= radius <= 100:
            raise MismatchError(f"vdwradii of {RADII} must be from 0 to 100 Å, not {radius:g} for {element}")
    return radii
