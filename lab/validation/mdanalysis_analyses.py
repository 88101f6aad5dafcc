"""Run every unmodified analysis of MDAnalysis on our executors and readers, and write a table of the results.

``python lab/validation/mdanalysis_analyses.py`` writes ``docs/reference/mdanalysis-analyses.md``.
"""

from __future__ import annotations

import argparse
import pkgutil
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import MDAnalysis.analysis
import numpy as np
from MDAnalysis.analysis.base import AnalysisBase
from mdanalysis_systems import Systems, made

import mdreel

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "mdanalysis-analyses.md"
COUNTERPARTS = {"AnalysisFromFunction": "from_function", "AnalysisBase": "AnalysisBase"}
"""Our names of classes that MDAnalysis calls differently."""
SKIPPED: dict[str, str] = {}
"""Reasons for classes that are not run."""


def analyses() -> list[type]:
    """Find every analysis of MDAnalysis."""
    for module in pkgutil.walk_packages(MDAnalysis.analysis.__path__, "MDAnalysis.analysis."):
        import_module(module.name)
    found = {kind for kind in _below(AnalysisBase) if kind.__module__.startswith("MDAnalysis.analysis.")}
    return sorted(found, key=lambda kind: (kind.__module__, kind.__name__))


def _below(kind: type) -> Iterator[type]:
    for below in kind.__subclasses__():
        yield below
        yield from _below(below)


def line_of(kind: type, systems: Systems) -> str:
    """Return the line of an analysis in the table."""
    name = kind.__name__
    ours = COUNTERPARTS.get(name, name)
    module = next((one for one in (mdreel, mdreel.analysis) if ours in one.__all__), None)
    counterpart = f"`{module.__name__}.{ours}`" if module else ""
    found = [f"not run: {SKIPPED[name]}"] * 2 if name in SKIPPED else _found(kind, systems)
    return f"| `{kind.__module__.removeprefix('MDAnalysis.analysis.')}.{name}` | {counterpart} | {' | '.join(found)} |"


def _found(kind: Any, systems: Systems) -> list[str]:
    """Return how results on our executors, and with our readers, compare with MDAnalysis's."""

    def run(**options: Any) -> Any:
        return made(kind, systems).run(**options).results

    expected = run()
    parallel = "MDAnalysis cannot run it in parallel"
    if kind._analysis_algorithm_is_parallelizable:  # noqa: SLF001 (MDAnalysis has no other name for it)
        ours, theirs = (
            {"backend": mdreel.mdanalysis.backend("threads", 2)},
            {"backend": "multiprocessing", "n_workers": 2},
        )
        parallel = _compared(expected, lambda: run(n_parts=3, **ours))
        if parallel == "differs" and _likeness(run(n_parts=3, **theirs), run(n_parts=3, **ours)) == "same":
            parallel = "same as with MDAnalysis's multiprocessing, which does not give the same result as a serial run"
    with mdreel.mdanalysis.accelerate():
        return [parallel, _compared(expected, run)]


def _compared(expected: Any, run: Callable[[], Any]) -> str:
    try:
        found = run()
    except Exception as error:  # noqa: BLE001 (the table reports any failure)
        return f"fails: {type(error).__name__}"
    return _likeness(expected, found)


def _likeness(one: Any, other: Any) -> str:
    """Return in words how similar two results are."""
    pairs = list(_numbers(one, other))
    if all(np.array_equal(a, b, equal_nan=a.dtype.kind == "f") for a, b in pairs):
        return "same"
    alike = all(a.shape == b.shape and _is_close(a, b) for a, b in pairs)
    return "same but for rounding" if alike else "differs"


def _is_close(one: Any, other: Any) -> bool:
    if one.dtype.kind not in "fc":
        return np.array_equal(one, other)
    return np.allclose(one, other, rtol=1e-9, atol=1e-9, equal_nan=True)


def _numbers(one: Any, other: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the corresponding arrays of two results."""
    if isinstance(one, Mapping):
        yield np.array(sorted(map(str, one))), np.array(sorted(map(str, other)))
        for name in set(one) & set(other):
            yield from _numbers(one[name], other[name])
    elif isinstance(one, Sequence) and not isinstance(one, str):
        yield np.array(len(one)), np.array(len(other))
        for a, b in zip(one, other, strict=False):
            yield from _numbers(a, b)
    elif hasattr(one, "grid"):
        yield one.grid, other.grid
    elif hasattr(one, "atoms"):
        yield one.atoms.positions, other.atoms.positions
    elif isinstance(one, np.ndarray) and one.dtype.kind == "O":
        yield from _numbers(one.tolist(), other.tolist())
    elif isinstance(one, (np.ndarray, np.generic, float, int, str, bool)):
        yield np.asarray(one), np.asarray(other)
    else:
        yield np.array(type(one).__name__), np.array(type(other).__name__)


def page(lines: list[str]) -> str:
    """Return the page."""
    return f"""# MDAnalysis analyses with mdreel

This table shows which classes of `MDAnalysis.analysis` have a counterpart in mdreel, and whether the unmodified class
gives the same results with mdreel's executors and readers. If there is a counterpart, use it, because it is faster.
[MDAnalysis on mdreel's readers](../how-to/mdanalysis.md) describes both ways.

| Result | Meaning |
|---|---|
| same | the results are bitwise identical to those of MDAnalysis alone |
| same but for rounding | the results differ only because floating-point numbers are added in a different order |
| MDAnalysis cannot run it in parallel | MDAnalysis does not allow the class to be split; run it under `accelerate()` |

| Class | Counterpart | `run(backend=mdreel.mdanalysis.backend(...))` | under `mdreel.mdanalysis.accelerate()` |
|---|---|---|---|
{chr(10).join(lines)}

This page is generated by `python lab/validation/mdanalysis_analyses.py`, so do not edit it. The script runs every
subclass of `AnalysisBase` on a small system in three ways: with MDAnalysis alone, with
`mdreel.mdanalysis.backend("threads", 2)` and `n_parts=3`, and after `mdreel.mdanalysis.accelerate()`.

The results are for MDAnalysis {version("MDAnalysis")}.
"""


def main() -> int:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=PAGE)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        systems = Systems(Path(folder))
        lines = [line_of(kind, systems) for kind in analyses()]
    given.output.write_text(page(lines), encoding="utf-8")
    wrong = [line for line in lines if "fails" in line or "differs" in line]
    print(f"{len(lines)} analyses, {len(wrong)} of them with something that does not work: {given.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
