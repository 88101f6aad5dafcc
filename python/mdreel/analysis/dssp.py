"""Secondary structure of a protein after DSSP."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from mdreel._core import Computation, Source, secondary_structure
from mdreel.analysis.base.analysis import Analysis
from mdreel.analysis.choices import DSSPMethod
from mdreel.analysis.periodic.boundaries import Boundaries
from mdreel.analysis.topology.backbone import Backbone
from mdreel.analysis.topology.residue_labels import ResidueLabels
from mdreel.errors import MismatchError
from mdreel.execution.tally import Tally
from mdreel.foundation.unit_check import check_length
from mdreel.trajectory.opener import Trajectory
from mdreel.trajectory.selection import selected

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from MDAnalysis import AtomGroup, Universe

_STATES: dict[DSSPMethod, str] = {"simplified": "-HE", "kabsch-sander": "-HBEGITS"}
"""The states in the order in which the core numbers them."""

_HELIX_AND_STRAND = 3
"""The number of a residue that is both, of three states."""


class DSSP(Analysis):
    """Secondary structure of a protein in each frame, assigned by DSSP.

    Parameters
    ----------
    atoms : MDAnalysis.Universe or AtomGroup
        A protein, or what holds one: residues that MDAnalysis knows as protein are taken.
    guess_hydrogens : bool
        Whether hydrogens on N are placed where they should be; else those of the trajectory are taken.
    heavyatom_names : tuple of str
        Names of N, CA, C and O, each one or several with blanks between them.
    hydrogen_name : str
        Names of the hydrogen on N, as in a selection; used without `guess_hydrogens`.
    method : {"simplified", "kabsch-sander"}
        Three states, exactly as MDAnalysis's `DSSP` gives them, or the eight of Kabsch and Sander.
    longest_bond : float, optional
        Å. A chain ends in a frame where C is farther than this from the next N: 2.5 in the program of Kabsch and
        Sander. By default chains end as the peers have them: with three states all residues are one chain, with eight
        a chain ends where the segment does.
    pbc : bool
        Whether the shortest image counts, where a frame has a cell.
    trajectory : path, sequence of paths, or Source, optional
        The trajectory, if it is not the one of the Universe. A Universe made of a topology alone is enough then.

    Attributes
    ----------
    results.dssp : ndarray, shape (n_frames, n_residues), str
        The state of each residue, one character: ``-`` loop, ``H`` helix, ``E`` strand; with eight states ``H``
        α-helix, ``G`` 3₁₀-helix, ``I`` π-helix, ``E`` strand, ``B`` bridge, ``T`` turn, ``S`` bend.
    results.dssp_ndarray : ndarray, shape (n_frames, n_residues, n_states), bool
        Whether the residue is in the state, in the order of `states`. Of three states, a residue may be in both a helix
        and a strand, as with MDAnalysis; `results.dssp` calls it a helix.
    results.fraction : ndarray, shape (n_residues, n_states), float64
        In what share of the frames `results.dssp` has the state.
    results.resids : ndarray, shape (n_residues,), int64
        Residue numbers, which repeat where there are several chains; see `residue_labels`.
    states : tuple of str
        The states: columns of `results.fraction`.
    residue_labels : list of str
        A label of each residue, such as ``"ALA 5"``, or ``"A ALA 5"`` where there are several segments.

    Raises
    ------
    SelectionError
        If there is no protein, or no residue has a whole backbone.
    MismatchError
        If the method is unknown, a name fits several atoms of a residue, or a residue has not the one hydrogen that it
        should have. With three states, if a residue has not all of N, CA, C and O.

    Notes
    -----
    C=O of one residue and N-H of another are bonded if the energy of their charges is below -0.5 kcal/mol [1]_:
    ``E = 0.42 * 0.20 * 332 (1/r_ON + 1/r_CH - 1/r_OH - 1/r_CN)``. Turns are bonds from residue i to i + 3, 4 or 5, two
    in a row make a helix; bonds that lay two residues beside each other make a bridge, bridges in a row a strand.
    Proline gives no hydrogen.

    * ``"simplified"``: as PyDSSP [2]_ in MDAnalysis 2.11, where N and O are 5 Å apart at most; H is 1.01 Å from N, in
      the bisector of the bonds to C and CA. 3₁₀- and π-helices are helices, single bridges strands.
    * ``"kabsch-sander"``: as the program DSSP 2 and mdtraj, where CA are less than 9 Å apart, and of the bonds of N-H
      the two strongest count; H is 1 Å from N, opposite to C=O of the residue before. Residues without a whole
      backbone, which mdtraj calls ``NA``, are left out, and end a chain.

    In float64; in the peers' single precision a bond of -0.5 kcal/mol may come out on the other side.

    Memory grows with the number of frames: while they are read, a residue takes 1 byte a frame; results take 4 for the
    character, and 3 or 8 for the states, these twice while they are made.

    References
    ----------
    .. [1] W. Kabsch, C. Sander, "Dictionary of protein secondary structure: pattern recognition of hydrogen-bonded and
       geometrical features", Biopolymers 22 (1983) 2577-2637.
    .. [2] S. Minami, PyDSSP, https://github.com/ShintaroMinami/PyDSSP.

    Examples
    --------
    >>> import MDAnalysis as mda
    >>> from MDAnalysisTests.datafiles import DCD, PSF
    >>> u = mda.Universe(PSF, DCD)
    >>> "".join(DSSP(u).run(stop=1).results.dssp[0, :24])
    '-EEEE-------HHHHHHHHHHHH'
    >>> "".join(DSSP(u, method="kabsch-sander").run(stop=1).results.dssp[0, :24])
    '-EEEE-S-SSSSHHHHHHHHHHHH'
    """

    def __init__(
        self,
        atoms: "Universe | AtomGroup",
        guess_hydrogens: bool = True,
        *,
        heavyatom_names: Sequence[str] = ("N", "CA", "C", "O O1 OT1"),
        hydrogen_name: str = "H HN HT1 HT2 HT3",
        method: DSSPMethod = "simplified",
        longest_bond: float | None = None,
        pbc: bool = True,
        trajectory: Trajectory | None = None,
    ) -> None:
        if method not in _STATES:
            raise MismatchError(f"method must be {' or '.join(map(repr, _STATES))}, not {method!r}")
        protein = selected(atoms, "protein", "atoms")
        is_simplified = method == "simplified"
        backbone = Backbone.of(protein, heavyatom_names, complete=is_simplified)
        chains = np.zeros_like(backbone.chains) if is_simplified else backbone.chains
        needed = [backbone.atoms.ravel()]
        if not guess_hydrogens:
            needed.append(backbone.hydrogens(hydrogen_name, chains))
        super().__init__(protein.universe.atoms[np.concatenate(needed)], trajectory)
        places = self._selection.places.astype(np.uint32)
        n_heavy = backbone.atoms.size
        self._residues = (places[:n_heavy].reshape(-1, 4), chains, backbone.donors)
        self._hydrogens = None if guess_hydrogens else places[n_heavy:]
        self._backbone = backbone
        self._method: DSSPMethod = method
        self._longest_bond = longest_bond
        if longest_bond is not None:
            check_length("longest_bond", longest_bond, empty=0.0, doubtful=1.3)
        self._pbc = pbc

    @property
    def states(self) -> tuple[str, ...]:
        """The states: columns of the fractions."""
        return tuple(_STATES[self._method])

    @property
    def alphas(self) -> "AtomGroup":
        """CA of each residue."""
        return self.atomgroup.universe.atoms[self._backbone.atoms[:, 1]]

    @property
    def labels(self) -> ResidueLabels:
        """What tells the residues apart."""
        return ResidueLabels.of(self._backbone.residues)

    @property
    def residue_labels(self) -> list[str]:
        """A label of each residue."""
        return self.labels.texts

    @property
    def boundaries(self) -> Boundaries:
        """What it requires of molecules that the boundary of the cell may cut."""
        return Boundaries(
            "distances are those of the shortest images, or with pbc=False of the atoms as they lie",
            whole=not self._pbc,
        )

    def computation(self, source: Source) -> Computation:
        """Return what assigns the states of a frame."""
        is_simplified = self._method == "simplified"
        return secondary_structure(
            len(self.atoms), self._residues, self._hydrogens, is_simplified, self._longest_bond, self._pbc
        )

    def conclude(self, tally: Tally) -> None:
        """Tell states by their characters."""
        n_residues, n_states = len(self._backbone.atoms), len(self.states)
        # The core keeps the states of eight residues in a number of a row.
        numbers = tally.values.view(np.uint8)[:, :n_residues]
        is_in = [numbers == state for state in range(n_states)]
        told = self.states
        if self._method == "simplified":
            both = numbers == _HELIX_AND_STRAND
            is_in[1:] = [one | both for one in is_in[1:]]
            told = (*told, "H")
        self.results.dssp = np.array(told)[numbers]
        self.results.dssp_ndarray = np.stack(is_in, axis=-1)
        self.results.fraction = tally.counts.reshape(n_residues, n_states) / tally.n_frames
        self.results.resids = np.asarray(self._backbone.residues.resids, np.int64)

    def draw(self, title: str, ax: "Axes | None") -> "Figure":
        """Draw the state of each residue over time, in colours."""
        from mdreel.results.state_map import state_map

        labels = self.labels
        return state_map(self.times, labels.positions, self.results.dssp, self.states, title, ax, label=labels.axis)

    def _describe(self) -> str:
        residues = f"{len(self._backbone.atoms):,} residues"
        return f"{residues}, {self.n_frames:,} frames" if self._outcome is not None else f"{residues}, not run"
