"""The demo: RMSD of adenylate kinase opening, from DCD and from XTC, by the command line, into ``demo/``.

Run it with ``./task demo``, which makes the environment that it needs.
"""

import shlex
import subprocess
import sys
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OUTPUT = ROOT / "demo"
SELECTION = "protein and name CA"


def make_trajectories(folder: Path) -> dict[str, Path]:
    """Bring the files of MDAnalysisTests to a folder, and write the trajectory as XTC beside them."""
    import MDAnalysis
    from MDAnalysisTests.datafiles import DCD, PSF

    paths = {"psf": folder / "adk.psf", "dcd": folder / "adk_dims.dcd", "xtc": folder / "adk_dims.xtc"}
    for name, original in (("psf", PSF), ("dcd", DCD)):
        paths[name].write_bytes(Path(original).read_bytes())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # MDAnalysis warns that the file has no unit cell: XTC gets an empty one
        universe = MDAnalysis.Universe(paths["psf"], paths["dcd"])
        with MDAnalysis.Writer(str(paths["xtc"]), universe.atoms.n_atoms) as writer:
            for _ in universe.trajectory:
                writer.write(universe.atoms)
    return paths


def analyse(topology: Path, trajectory: Path) -> list[Path]:
    """Run ``mdreel rmsd`` and return the files that it made: table, plot, timing summary."""
    stem = OUTPUT / f"adk-{trajectory.suffix[1:]}"
    table, plot, timing = stem.with_suffix(".csv"), stem.with_suffix(".png"), stem.with_suffix(".txt")
    inputs = ["-s", topology, "-f", trajectory, "--select", SELECTION]
    outputs = ["-o", table, "--plot", plot, "--force"]
    command = ["mdreel", "rmsd", *inputs, *outputs]
    words = [str(word.relative_to(ROOT) if isinstance(word, Path) else word) for word in command]
    print(f"\n$ {shlex.join(words)}", flush=True)
    program = Path(sys.executable).parent / words[0]
    answer = subprocess.run([program, *words[1:]], cwd=ROOT, stderr=subprocess.PIPE, text=True, check=False)
    print(answer.stderr, end="", flush=True)
    if answer.returncode:
        sys.exit(f"mdreel ended with exit code {answer.returncode}")
    timing.write_text(answer.stderr, encoding="utf-8")
    return [table, plot, timing]


def main() -> None:
    """Make the trajectories, analyse both, and say where everything is."""
    OUTPUT.mkdir(exist_ok=True)
    paths = make_trajectories(OUTPUT)
    made = [path for name in ("dcd", "xtc") for path in analyse(paths["psf"], paths[name])]
    print("\nTable, plot and timing summary of each:")
    for path in made:
        print(f"  {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
