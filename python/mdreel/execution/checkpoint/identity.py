"""Identity of a run, which must match the identity in a checkpoint."""

from __future__ import annotations

import hashlib
import pickle
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mdreel._core import FrameSet
from mdreel.errors import UnsupportedError
from mdreel.execution.checkpoint.code_digest import CodeDigest
from mdreel.execution.checkpoint.module_versions import own_version, version_of, version_of_python

if TYPE_CHECKING:
    from mdreel.execution.job import Job


def run_identity(job: Job, frames: FrameSet | None, keep_to_segments: bool = False) -> dict[str, str]:
    """Return the properties of a run that must not change if it is continued from a checkpoint.

    Parameters
    ----------
    job : Job
        The job, which contains the source, the atoms and the kernel.
    frames : FrameSet or None
        The frames, or None for all frames.
    keep_to_segments : bool
        Whether each block is within a single file.

    Returns
    -------
    dict of str to str
        Descriptions by name. Files are identified by their name, size and modification time, and code by a digest. A
        file may therefore be moved, or copied to another folder with its modification time.

    Raises
    ------
    UnsupportedError
        If the trajectory is in memory.
    """
    source = job.source
    if frames is not None and frames == FrameSet.range(0, 1, source.n_frames):
        frames = None
    code = CodeDigest()
    analysis = code.of(job.kernel)
    return {
        "version of mdreel": own_version(),
        "version of Python": version_of_python(),
        **{f"version of {name}": version_of(name) for name in sorted({"MDAnalysis", "numpy", *code.distributions})},
        "trajectory": "; ".join(_file_identity(facts) for facts in source.describe()),
        "treatment of damage": source.on_error,
        "transformations": _digest(pickle.dumps(source.transformations, protocol=5)),
        "set of frames": "all" if frames is None else f"{len(frames)} frames, {_digest(frames.numbers().tobytes())}",
        "set of atoms": f"{len(job.atoms)} atoms, {_digest(job.atoms.tobytes())}",
        "cut into blocks": "at the ends of files" if keep_to_segments else "anywhere",
        **code.parts,
        "analysis": analysis,
    }


def _file_identity(facts: dict[str, Any]) -> str:
    path = facts.get("path")
    if path is None:
        raise UnsupportedError("a trajectory in memory cannot have a checkpoint, because it ends with its process")
    size = f"{facts.get('size', 'unknown')} bytes"
    try:
        changed = Path(path).stat().st_mtime_ns
    except OSError:  # a remote file has no modification time
        return f"{path}, {size}"
    return f"{Path(path).name}, {size}, changed {changed}"


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]
