"""The C library xdrfile as MDAnalysis ships it, through its thin file object: all atoms of each frame, nothing else."""

from __future__ import annotations

from peers.job import ANGSTROM_PER_NM, Job, Read, Work, measure


def prepare(job: Job) -> Work:
    """Import the file object."""
    from MDAnalysis.lib.formats.libmdaxdr import XTCFile

    def read() -> Read:
        n_frames = 0
        with XTCFile(job.trajectory) as file:
            for frame in file:
                n_frames += 1
                last = frame.x
        return Read.of(n_frames, last, ANGSTROM_PER_NM)

    return read


if __name__ == "__main__":
    measure(prepare)
