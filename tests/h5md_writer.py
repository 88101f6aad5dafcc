"""Files of H5MD in every layout, for tests."""

from pathlib import Path
from typing import Any

import h5py
import numpy as np

UNITS = {"position": "Angstrom", "velocity": "Angstrom ps-1", "force": "kJ mol-1 Angstrom-1"}


def write_h5md(
    path: Path,
    elements: dict[str, np.ndarray],
    *,
    box: np.ndarray | None = None,
    layout: dict[str, Any] | None = None,
    units: dict[str, str] | None = None,
    groups: tuple[str, ...] = ("atoms",),
    times: np.ndarray | None = None,
    steps: np.ndarray | None = None,
    **options: Any,
) -> Path:
    """Write elements, shape (n_frames, n_atoms, 3), with the arguments of h5py's create_dataset in `layout`.

    A box of shape (3,) or (3, 3) is fixed; one of (n_frames, 3) or (n_frames, 3, 3) is not. `options` go to h5py.File.
    """
    units = UNITS | {"time": "ps"} | (units or {})
    n_frames = len(next(iter(elements.values())))
    times = np.arange(n_frames, dtype=np.float64) if times is None else times
    steps = np.arange(n_frames) if steps is None else steps
    with h5py.File(path, "w", **options) as file:
        file.create_group("h5md").attrs["version"] = [1, 1]
        for name in groups:
            group = file.create_group(f"particles/{name}")
            for element, values in elements.items():
                own = group.create_group(element)
                value = own.create_dataset("value", data=values, **(layout or {}))
                if units[element]:
                    value.attrs["unit"] = units[element]
                own["step"] = steps
                own["time"] = times
                own["time"].attrs["unit"] = units["time"]
            write_box(group, box, steps, units)
    return path


def write_box(group: h5py.Group, box: np.ndarray | None, steps: np.ndarray, units: dict[str, str]) -> None:
    own = group.create_group("box")
    own.attrs["dimension"] = 3
    own.attrs["boundary"] = ["none" if box is None else "periodic"] * 3
    if box is None:
        return
    unit = units.get("box", units["position"])
    if box.shape in ((3,), (3, 3)):
        own["edges"] = box
        own["edges"].attrs["unit"] = unit
    else:
        own["edges/value"] = box
        own["edges/value"].attrs["unit"] = unit
        own["edges/step"] = steps
