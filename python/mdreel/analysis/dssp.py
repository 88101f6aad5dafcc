"""Secondary structure of proteins assigned by DSSP."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from mdreel._core import Computation, Source, secondary_structure
from mdreel.analysis.base.analysis import Analysis
from mdreel.analysis.choices import DSSPMethod
from mdreel.analysis.periodic.boundaries import Boundaries
from mdreel.analysis.topology.backbone import Backbone
from mdreel.analysis.topology.residue_labels import ResidueLabels
from mdreel.errors import MismatchError, SelectionError, UnsupportedError
from mdreel.execution.tally import Tally
from mdreel.foundation.arguments import checked_arguments
from mdreel.foundation.unit_check import check_length
from mdreel.results.column import Column
from mdreel.results.labelled_array import LabelledArray
from mdreel.trajectory.opener import Trajectory
from mdreel.trajectory.selection import selected
from mdreel.trajectory.universe import cell_before_run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from MDAnalysis import AtomGroup, Universe

_STATES: dict[DSSPMethod, str] = {"simplified": "-HE", "kabsch-sander": "-HBEGITS"}
"""States, in the order in which the core numbers them."""

_BACKENDS = ("serial", "openmp", "distopia")
"""Ways in which MDAnalysis computes distances."""

_LEAST_RESIDUES = 6
"""Smallest number of residues that MDAnalysis accepts."""

_HELIX_AND_STRAND = 3
"""Number of a residue that is both helix and strand, in the three-state assignment."""


_NAMES = {
    "-": "loop",
    "H": "helix",
    "E": "strand",
    "B": "bridge",
    "G": "helix_3_10",
    "I": "helix_pi",
    "T": "turn",
    "S": "bend",
}


class DSSP(Analysis):
    """Assign the secondary structure of a protein over a trajectory using DSSP.

    Parameters
    ----------
    atoms : MDAnalysis.Universe or AtomGroup
        A system that contains a protein. Only residues that MDAnalysis recognizes as protein will be analysed.
    guess_hydrogens : bool
        Whether to calculate the positions of the hydrogens bonded to N instead of using those in the trajectory.
    heavyatom_names : tuple of str
        Names of the atoms N, CA, C and O. You can give several names for an atom, separated by spaces.
    hydrogen_name : str
        Names of the hydrogen bonded to N, as in a selection. These are only used if `guess_hydrogens` is False.
    backend : {"serial", "openmp", "distopia"}
        Accepted for compatibility with MDAnalysis, but not used. You can choose the executor in `run` instead.
    method : {"simplified", "kabsch-sander"}
        Assignment method, which uses three states as in MDAnalysis's `DSSP`, or the eight states of Kabsch and Sander.
    longest_bond : float, optional
        Largest distance in Å between C and the next N within a chain. The chain ends where this distance is exceeded in
        a frame. The program of Kabsch and Sander uses 2.5. By default, distances are not checked. For three states,
        this means that all residues form a single chain, as in MDAnalysis. For eight states, chains always end where a
        segment ends, as in mdtraj.
    pbc : bool
        Whether to use the minimum image convention in frames that have a cell.
    trajectory : path, sequence of paths, or Source, optional
        Trajectory to analyse instead of the Universe's trajectory. In this case, the Universe needs only a topology.
    verbose : bool
        Whether `run` shows a progress bar by default.

    Attributes
    ----------
    results.dssp : ndarray, shape (n_frames, n_residues), str
        State of each residue as a single character: ``-`` loop, ``H`` helix, ``E`` strand. For eight states, ``H``
        α-helix, ``G`` 3₁₀-helix, ``I`` π-helix, ``E`` strand, ``B`` bridge, ``T`` turn, ``S`` bend.
    results.dssp_ndarray : ndarray, shape (n_frames, n_residues, n_states), bool
        Whether a residue is in a state, in the order of `states`. If you use three states, a residue can be both helix
        and strand, as in MDAnalysis. It will then be a helix in `results.dssp`.
    results.fraction : ndarray, shape (n_residues, n_states), float64
        Fraction of the frames in which a residue is in each state of `results.dssp`.
    results.resids : ndarray, shape (n_residues,), int64
        Residue numbers. If there are several chains, these are ambiguous. See `residue_labels`.
    states : tuple of str
        The states, in the order of the columns of `results.fraction`.
    residue_labels : list of str
        Label of each residue, such as ``"ALA 5"``, or ``"A ALA 5"`` for systems with several segments.

    Raises
    ------
    SelectionError
        When there is no protein, or all residues lack a part of their backbone. For three states, when there are fewer
        than six residues, as in MDAnalysis.
    MismatchError
        When the method is unknown, a name can be found more than once in a residue, or the N of a residue has the wrong
        number of hydrogens. For three states, when a residue lacks N, CA, C or O.

    Warns
    -----
    MdreelWarning
        When the current cell is the placeholder that can be found in PDB files without a cell. This cell will be
        ignored, as with ``pbc=False``.

    Notes
    -----
    The C=O of one residue and the N-H of another form a hydrogen bond if their electrostatic interaction energy is
    below -0.5 kcal/mol [1]_: ``E = 0.42 * 0.20 * 332 (1/r_ON + 1/r_CH - 1/r_OH - 1/r_CN)``. A bond from residue i to
    residue i + 3, i + 4 or i + 5 is a turn, and two turns in a row form a helix. Bonds that place two residues side by
    side form a bridge, and consecutive bridges form a strand. Proline is never a donor.

    * ``"simplified"``: the assignment of PyDSSP [2]_, as in MDAnalysis 2.11. N and O must be at most 5 Å apart. H is
      placed 1.01 Å from N, on the bisector of the bonds to C and CA. 3₁₀- and π-helices count as helices, and single
      bridges count as strands.
    * ``"kabsch-sander"``: the assignment of the DSSP 2 program, as in mdtraj. CA atoms must be less than 9 Å apart, and
      only the two strongest bonds of each N-H are used. H is placed 1 Å from N, antiparallel to C=O of the previous
      residue. Residues that lack a part of their backbone (``NA`` in mdtraj) are omitted, and the chain ends there.

    Calculations use float64. As the other programs use single precision, their results may differ for bonds whose
    energy is close to -0.5 kcal/mol.

    While frames are being read, you need 1 byte of memory per residue and frame. The results need 4 bytes per residue
    and frame for the character, and 3 or 8 bytes for the states (twice as much while they are assembled).

    References
    ----------
    .. [1] W. Kabsch, C. Sander, "Dictionary of protein secondary structure: pattern recognition of hydrogen-bonded and
       geometrical features", Biopolymers 22 (1983) 2577-2637.
    .. [2] S. Minami, PyDSSP, https://github.com/ShintaroMinami/PyDSSP.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> import mdreel
    >>> from MDAnalysisTests.datafiles import DCD, PSF
    >>> u = mda.Universe(PSF, DCD)
    >>> "".join(mdreel.DSSP(u).run(stop=1).results.dssp[0, :24])
    '-EEEE-------HHHHHHHHHHHH'
    >>> "".join(mdreel.DSSP(u, method="kabsch-sander").run(stop=1).results.dssp[0, :24])
    '-EEEE-S-SSSSHHHHHHHHHHHH'
    """

    _result_dimensions = MappingProxyType(
        {
            "dssp": ("frame", "residue"),
            "dssp_ndarray": ("frame", "residue", "state"),
            "fraction": ("residue", "state"),
        }
    )

    @checked_arguments
    def __init__(
        self,
        atoms: Universe | AtomGroup,
        guess_hydrogens: bool = True,
        *,
        heavyatom_names: Sequence[str] = ("N", "CA", "C", "O O1 OT1"),
        hydrogen_name: str = "H HN HT1 HT2 HT3",
        backend: str = "serial",
        method: DSSPMethod = "simplified",
        longest_bond: float | None = None,
        pbc: bool = True,
        trajectory: Trajectory | None = None,
        verbose: bool = False,
    ) -> None:
        if backend not in _BACKENDS:
            raise UnsupportedError(f"backend must be one of {', '.join(_BACKENDS)}, not {backend!r}")
        if method not in _STATES:
            raise MismatchError(f"method must be {' or '.join(map(repr, _STATES))}, not {method!r}")
        protein = selected(atoms, "protein", "atoms")
        is_simplified = method == "simplified"
        backbone = Backbone.of(protein, heavyatom_names, complete=is_simplified)
        chains = np.zeros_like(backbone.chains) if is_simplified else backbone.chains
        needed = [backbone.atoms.ravel()]
        if not guess_hydrogens:
            needed.append(backbone.hydrogens(hydrogen_name, chains))
        if is_simplified and len(backbone.residues) < _LEAST_RESIDUES:
            found = len(backbone.residues)
            message = f"DSSP requires at least {_LEAST_RESIDUES} residues, got {found}"
            raise SelectionError(f'{message}: select more, or use method="kabsch-sander"')
        super().__init__(protein.universe.atoms[np.concatenate(needed)], trajectory, verbose=verbose)
        places = self._selection.places.astype(np.uint32)
        n_heavy = backbone.atoms.size
        self._residues = (places[:n_heavy].reshape(-1, 4), chains, backbone.donors)
        self._hydrogens = None if guess_hydrogens else places[n_heavy:]
        self._backbone = backbone
        self._method: DSSPMethod = method
        self._longest_bond = longest_bond
        if longest_bond is not None:
            check_length("longest_bond", longest_bond, empty=0.0, doubtful=1.3)
        if pbc and hasattr(protein.universe, "trajectory") and protein.universe.dimensions is not None:
            pbc = cell_before_run(protein.universe, is_opened=trajectory is None) is not None
        self._pbc = pbc

    @property
    def states(self) -> tuple[str, ...]:
        """The states, in the order of the columns of `results.fraction`."""
        return tuple(_STATES[self._method])

    @property
    def alphas(self) -> AtomGroup:
        """CA atoms of the residues."""
        return self.atomgroup.universe.atoms[self._backbone.atoms[:, 1]]

    @property
    def labels(self) -> ResidueLabels:
        """Labels of the residues."""
        return ResidueLabels.of(self._backbone.residues)

    @property
    def residue_labels(self) -> list[str]:
        """Text label of each residue."""
        return self.labels.texts

    @property
    def boundaries(self) -> Boundaries:
        """Requirements for molecules that cross the periodic boundary."""
        return Boundaries(
            "distances use minimum images, or with pbc=False no images",
            whole=not self._pbc,
        )

    def computation(self, source: Source) -> Computation:
        """Return the computation that assigns the states of each frame."""
        is_simplified = self._method == "simplified"
        return secondary_structure(
            len(self.atoms), self._residues, self._hydrogens, is_simplified, self._longest_bond, self._pbc
        )

    def result_bytes(self, n_frames: int, n_columns: int) -> int:
        """Return the minimum memory for the results of a run in bytes. See `Analysis.result_bytes`."""
        of_residue = 4 + len(self.states)  # a character, and a flag for each state
        return super().result_bytes(n_frames, n_columns) + of_residue * n_frames * len(self._backbone.atoms)

    def conclude(self, tally: Tally) -> None:
        """Convert state numbers to characters, flags and fractions."""
        n_residues, n_states = len(self._backbone.atoms), len(self.states)
        # The core packs the states of eight residues into each float64 of a row.
        numbers = tally.values.view(np.uint8)[:, :n_residues]
        is_in = [numbers == state for state in range(n_states)]
        characters = self.states
        if self._method == "simplified":
            both = numbers == _HELIX_AND_STRAND
            is_in[1:] = [one | both for one in is_in[1:]]
            characters = (*characters, "H")
        self.results.dssp = np.array(characters)[numbers]
        self.results.dssp_ndarray = np.stack(is_in, axis=-1)
        self.results.fraction = tally.counts.reshape(n_residues, n_states) / tally.n_frames
        self.results.resids = np.asarray(self._backbone.residues.resids, np.int64)

    def columns(self) -> Sequence[Column]:
        """Return columns that identify each residue, and columns with the fraction of frames in each state."""
        fractions = zip(self.states, self.results.fraction.T.copy(), strict=True)
        return [*self.labels.columns(), *(Column(_NAMES[state], "", values) for state, values in fractions)]

    @property
    def state_names(self) -> list[str]:
        """Names of the states, such as ``helix``."""
        return [_NAMES[state] for state in self.states]

    def _result_arrays(self) -> list[LabelledArray]:
        return [one for one in super()._result_arrays() if one.name != "resids"]  # a coordinate has them

    def _result_coordinates(self) -> list[LabelledArray]:
        states = LabelledArray("state", ("state",), "", np.array(self.state_names))
        return [*super()._result_coordinates(), *self.labels.coordinates(), states]

    def draw(self, title: str, ax: Axes | None) -> Figure:
        """Draw the state of each residue over time."""
        from mdreel.results.state_map import state_map

        labels = self.labels
        return state_map(self.times, labels.positions, self.results.dssp, self.states, title, ax, label=labels.axis)

    def _describe(self) -> str:
        residues = f"{len(self._backbone.atoms):,} residues"
        return f"{residues}, {self.n_frames:,} frames" if self._outcome is not None else f"{residues}, not run"
