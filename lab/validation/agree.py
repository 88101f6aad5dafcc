"""Compare the results of mdreel with those of its peers and write a table: ``python lab/validation/agree.py``."""

from __future__ import annotations

import argparse
import sys
import tempfile
import warnings
from importlib.metadata import version
from pathlib import Path

import boundaries
import neighbours
import profiles
import secondary
import structures
import superposed
import surfaces
from comparison import SYSTEMS, Compared, thin_out

HERE = Path(__file__).parent
FAMILIES = (structures, superposed, neighbours, surfaces, secondary, profiles, boundaries)


def table(rows: list[Compared]) -> str:
    """Return the page with the table."""
    versions = ", ".join(f"{name} {version(name)}" for name in ("mdreel", "MDAnalysis", "mdtraj", "numpy"))
    lines = [
        "# Agreement",
        "",
        "`python lab/validation/agree.py` writes this table of the largest absolute differences over all frames.",
        "",
        *(f"* **{name}**: {text}" for name, (_, _, text) in SYSTEMS.items()),
        "",
        "| Analysis | System | Peer | Largest difference | Allowed | |",
        "|---|---|---|--:|--:|---|",
        *(
            f"| {row.analysis} | {row.system} | {row.peer} | {row.found:.1e} {row.unit} | {row.bound:g} | {row.note} |"
            for row in rows
        ),
        "",
        f"{versions}.",
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Compare, write the table, and return 1 if a difference is larger than allowed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=HERE / "agreement.md", help="the table")
    parser.add_argument("--every", type=int, default=1, help="compare only every so many frames of long trajectories")
    arguments = parser.parse_args()
    output = arguments.output
    warnings.simplefilter("ignore")
    rows: list[Compared] = []
    with tempfile.TemporaryDirectory() as folder:
        if arguments.every > 1:
            thin_out(arguments.every, Path(folder))
        for family in FAMILIES:
            rows += family.compare(Path(folder))
    output.write_text(table(rows), encoding="utf-8")
    wrong = [row for row in rows if not row.found <= row.bound]
    for row in wrong:
        print(f"{row.analysis}, {row.system}, {row.peer}: {row.found:.3g} {row.unit}", file=sys.stderr)
    print(f"{len(rows)} comparisons, {len(wrong)} differ by more than is allowed: {output}")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
