"""A homodimer: two segments of adenylate kinase's first residues, with the same names and numbers."""

import MDAnalysis
import numpy as np

from peptide_system import System, in_memory, peptide, peptide_positions

N_RESIDUES = 28
N_FRAMES = 5


def homodimer(segids: tuple[str, str] = ("A", "B")) -> MDAnalysis.Universe:
    """Two peptides in one Universe."""
    both = MDAnalysis.Merge(peptide().atoms, peptide().atoms)
    half = len(both.atoms) // 2
    segments = [both.add_Segment(segid=segid) for segid in segids]
    for segment, atoms in zip(segments, (both.atoms[:half], both.atoms[half:]), strict=True):
        atoms.residues.segments = segment
    both.atoms.ids = np.arange(len(both.atoms)) + 1
    return both


def dimer_system() -> System:
    """The homodimer, its halves side by side, and its trajectory."""
    frames = peptide_positions()[:N_FRAMES]
    return System(homodimer(), in_memory(np.concatenate([frames, frames + np.float32([0, 0, 25])], axis=1)))
