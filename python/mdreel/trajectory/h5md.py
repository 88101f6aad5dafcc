"""H5MD trajectories (https://nongnu.org/h5md/h5md.html)."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mdreel._core import OpenFiles, Source
from mdreel.errors import FormatError, UnsupportedError
from mdreel.trajectory.h5md_units import conversion_factor
from mdreel.trajectory.hdf5 import Dataset, check_length, chunked, describe_dataset, text_of

if TYPE_CHECKING:
    import h5py

# The elements of a particle group, their names in the core, and their kinds of quantity.
ELEMENTS = {"position": ("positions", "length"), "velocity": ("velocities", "velocity"), "force": ("forces", "force")}

Cells = Dataset | tuple[Dataset, Dataset | None] | list[float] | list[list[float]] | None


def open_h5md(
    file: "h5py.File", path: str, *, group: str | None, access: str, recipe: tuple[Any, Any], open_files: OpenFiles
) -> Source:
    """Open a particle group of an H5MD file.

    Parameters
    ----------
    file : h5py.File
        The file.
    path : str
        Path of the file.
    group : str, optional
        Name of the particle group. It is required only if the file has several groups.
    access : str
        How to access the bytes. See `mdreel.open`.
    recipe : tuple
        Function and arguments that open the file again.
    open_files : OpenFiles
        Limit on the number of open files, including this file.

    Returns
    -------
    Source
        The trajectory, with positions in Å, velocities in Å/ps, forces in kJ/(mol Å), and times in ps.

    Raises
    ------
    FormatError
        If the file violates the H5MD specification.
    UnsupportedError
        If there are several groups and `group` is not given, if units are missing or unknown, or if the storage layout
        is not supported.

    Notes
    -----
    The format is described in de Buyl, Colberg and Höfling, Comput. Phys. Commun. 185 (2014) 1546. This function reads
    only times and steps.
    """
    name = _group_name(file, path, group)
    particles = file["particles"][name]
    here = [element for element in ELEMENTS if element in particles]
    if not here:
        raise FormatError(
            f"{particles.name}: expected position, velocity or force, found {_names(particles)}", path=path
        )
    first = particles[here[0]]
    value = _value(first, path)
    check_length(value, path)
    if len(value.shape) != 3:
        raise FormatError(f"{value.name}: expected the shape (n_frames, n_atoms, 3), got {value.shape}", path=path)
    n_frames = int(value.shape[0])
    steps = _steps(first, n_frames, path)
    times, has_times = _times(particles, here, n_frames, path)
    quantities = []
    for element in here:
        own, kind = ELEMENTS[element]
        value = _value(particles[element], path)
        factor = _unit(value, kind, path)
        described = describe_dataset(value, path, unit=factor)
        quantities.append((own, replace(described, frames=_frames(particles[element], steps, path))))
    facts = {
        "format": "H5MD",
        "path": Path(path),
        "size": Path(path).stat().st_size,
        "version": _version(file),
        "group of particles": name,
        **{own: described.summary for own, described in quantities},
        "unit cell": "edges" in particles.get("box", {}),
        "times": "stored" if has_times else "none: frames are counted",
    }
    cells = _cells(particles, here, steps, path)
    return chunked(path, access, times, steps, quantities, cells, facts, recipe, open_files)


def positions_in(file: "h5py.File", path: str, group: str) -> "tuple[h5py.Dataset, float]":
    """Return the positions dataset of a particle group in a file that `open_h5md` can read.

    Returns
    -------
    positions : h5py.Dataset
        Dataset of shape (n_frames, n_atoms, 3). Its frames are the frames of the trajectory.
    unit : float
        Conversion factor to Å.

    Raises
    ------
    UnsupportedError
        If there are no positions.
    """
    particles = file["particles"][group]
    if "position" not in particles:
        raise UnsupportedError(f"{particles.name}: there are no positions, only {_names(particles)}", path=path)
    value = _value(particles["position"], path)
    return value, _unit(value, "length", path)


def _names(group: "h5py.Group") -> str:
    return ", ".join(group) or "nothing"


def _group_name(file: "h5py.File", path: str, group: str | None) -> str:
    if "particles" not in file:
        raise FormatError(f"expected the group /particles of H5MD, found {_names(file)}", path=path)
    names = [str(name) for name in file["particles"]]
    if group is not None and group in names:
        return group
    if group is not None or not names:
        found = ", ".join(names) or "none"
        raise FormatError(f"expected the particle group {group or ''!r}, found {found}", path=path)
    if len(names) > 1:
        raise UnsupportedError(f"{path}: there are several particle groups: {', '.join(names)}; choose one with group=")
    return names[0]


def _version(file: "h5py.File") -> str | None:
    version = file["h5md"].attrs.get("version") if "h5md" in file else None
    return None if version is None else ".".join(str(int(number)) for number in np.ravel(version))


def _value(element: Any, path: str) -> "h5py.Dataset":
    """Return the dataset of a time-dependent element."""
    if not hasattr(element, "keys"):
        raise UnsupportedError(f"{element.name} does not depend on time: there are no frames to read", path=path)
    if "value" not in element or not hasattr(element["value"], "shape"):
        raise FormatError(f"{element.name}: expected a dataset named value, found {_names(element)}", path=path)
    value = element["value"]
    if value.shape is None or len(value.shape) not in (2, 3):
        raise FormatError(f"{value.name}: expected the shape (n_frames, n_atoms, 3), got {value.shape}", path=path)
    return value


def _unit(dataset: "h5py.Dataset", kind: str, path: str, default: "h5py.Dataset | None" = None) -> float:
    """Return the conversion factor from the unit of a dataset to the unit used in mdreel."""
    named = next((own for own in (dataset, default) if own is not None and "unit" in own.attrs), None)
    if named is None:
        raise UnsupportedError(f"{dataset.name} has no attribute unit, so the unit of its values is unknown", path=path)
    return conversion_factor(text_of(named.attrs["unit"]), kind, f"{path}: {named.name}")


def _axis(dataset: "h5py.Dataset", n_frames: int, path: str) -> NDArray[Any]:
    """Return steps or times, shape (n_frames,). They are stored per frame, or as an increment and an offset."""
    if dataset.shape == ():
        offset = dataset.attrs.get("offset", 0)
        return np.asarray(offset + np.arange(n_frames) * dataset[()])
    check_length(dataset, path)
    if dataset.shape != (n_frames,):
        raise FormatError(f"{dataset.name}: expected the shape ({n_frames},), got {dataset.shape}", path=path)
    return np.asarray(dataset[:])


def _steps(element: "h5py.Group", n_frames: int, path: str) -> NDArray[np.int64]:
    """Return the integration steps, shape (n_frames,)."""
    steps = _axis(element["step"], n_frames, path) if "step" in element else np.arange(n_frames)
    return steps.astype(np.int64)


def _times(particles: "h5py.Group", here: list[str], n_frames: int, path: str) -> tuple[NDArray[np.float64], bool]:
    """Return the times in ps, shape (n_frames,), of the first element that has times."""
    for element in here:
        if "time" in particles[element]:
            dataset = particles[element]["time"]
            factor = _unit(dataset, "time", path)
            times = _axis(dataset, n_frames, path)
            # Times in single precision are converted in single precision, as MDAnalysis does.
            return (times if factor == 1 else times * factor).astype(np.float64), True
    return np.arange(n_frames, dtype=np.float64), False


def _frames(element: "h5py.Group", steps: NDArray[np.int64], path: str) -> NDArray[np.int64] | None:
    """Return the frame of an element for each step of the trajectory, or None if the frames are the same."""
    n_frames = int(_value(element, path).shape[0])
    own = _steps(element, n_frames, path)
    if np.array_equal(own, steps):
        return None
    order = np.argsort(own, kind="stable")
    place = np.searchsorted(own[order], steps).clip(max=max(n_frames - 1, 0))
    found = np.where(own[order][place] == steps, order[place], -1) if n_frames else np.full(len(steps), -1)
    if np.count_nonzero(found >= 0) != n_frames:
        raise UnsupportedError(f"{element.name}: there are steps that the other elements do not have", path=path)
    return found.astype(np.int64)


def _cells(particles: "h5py.Group", here: list[str], steps: NDArray[np.int64], path: str) -> Cells:
    """Return the edges of the box, which are either fixed or stored in datasets."""
    if "box" not in particles:
        return None
    box = particles["box"]
    dimension = box.attrs.get("dimension", 3)
    if dimension != 3:
        raise UnsupportedError(f"{box.name} has {dimension} dimensions: three are supported", path=path)
    if "edges" not in box:
        return None
    edges = box["edges"]
    default = _value(particles["position"], path) if "position" in here else None
    if not hasattr(edges, "keys"):
        factor = np.float32(_unit(edges, "length", path, default))
        if edges.shape not in ((3,), (3, 3)):
            raise FormatError(f"{edges.name}: expected the shape (3,) or (3, 3), got {edges.shape}", path=path)
        fixed = edges[()].astype(np.float32) * factor
        return fixed.tolist() if fixed.ndim == 2 else [*fixed.tolist(), 90.0, 90.0, 90.0]
    value = _value(edges, path)
    conversion = {"unit": _unit(value, "length", path, default), "frames": _frames(edges, steps, path)}
    if value.ndim == 2:
        return describe_dataset(value, path, n_rows=1, **conversion), None
    return describe_dataset(value, path, n_rows=3, **conversion)
