"""Compile the PLUMED action MDREEL_CHANNEL against your PLUMED, and print the path of the plugin.

    python extras/plumed/build.py
    PLUMED=/opt/plumed/bin/plumed python extras/plumed/build.py --output ~/MdreelChannel.so

PLUMED is the program of the PLUMED that your MD code loads, by default the one on the PATH. `plumed mklib` compiles the
plugin with the compiler and the options that PLUMED was built with. Cargo builds the C library of channels in release
mode. The plugin contains this library, so you can move the plugin to any place.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parents[1]
CRATE = ROOT / "crates" / "mdreel-channel-c"
SOURCE = FOLDER / "MdreelChannel.cpp"
FUNCTIONS = ("open", "await", "publish", "end")
"""What the plugin calls, of mdreel_channel.h. `plumed mklib` names libraries before the code that needs them."""


def main() -> None:
    """Build the library, then the plugin."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("MdreelChannel.so"), help="the plugin")
    output = parser.parse_args().output.absolute()
    plumed = os.environ.get("PLUMED", "plumed")
    if shutil.which(plumed) is None:
        sys.exit(f"{plumed} was not found: install PLUMED 2.8 or newer, or set PLUMED to the path of its program")
    if shutil.which("cargo") is None:
        sys.exit("cargo was not found: install Rust from https://rustup.rs")
    if not output.parent.is_dir():
        sys.exit(f"{output.parent} is not a folder: create it, or choose another --output")
    library = build_library()
    with TemporaryDirectory() as folder:
        shutil.copy(SOURCE, folder)  # mklib writes beside the source
        part = Path(folder, SOURCE.stem + output.suffix)
        wanted = [f"-Wl,-u,mdreel_producer_{name}" for name in FUNCTIONS]
        link = [*wanted, "-Wl,-u,mdreel_last_error,--exclude-libs,ALL,--gc-sections,--strip-debug", str(library)]
        # MD codes load PLUMED 2.10 and newer so that plugins find its symbols only if they name its library.
        link += ["-Wl,--no-as-needed", *map(str, kernel_of(plumed))]
        options = {
            "PLUMED_MKLIB_CFLAGS": shlex.join(["-O2", f"-I{CRATE / 'include'}"]),
            "PLUMED_MKLIB_LDFLAGS": shlex.join([*link, "-lpthread", "-ldl"]),
        }
        run([plumed, "mklib", "-o", part.name, SOURCE.name], folder, options)
        if not part.exists():  # `plumed mklib` does not report every failure
            sys.exit("plumed mklib has not written the plugin; its messages are above")
        shutil.move(part, output)
    print(output)


def build_library() -> Path:
    """Build the C library of channels; return the path of the static library."""
    command = ["cargo", "build", "--release", "--locked", "-p", "mdreel-channel-c", "--message-format=json"]
    lines = run(command, ROOT, {}).splitlines()
    artifacts = [json.loads(line) for line in lines if line.startswith('{"reason":"compiler-artifact"')]
    files = [Path(name) for artifact in artifacts for name in artifact["filenames"]]
    return next(path for path in files if path.name == "libmdreel_channel_c.a")


def kernel_of(plumed: str) -> list[Path]:
    """Return the shared library of an installed PLUMED, if there is one."""
    root = Path(run([plumed, "info", "--root"], ROOT, {}).strip())
    return [path for path in [root.resolve().parent / f"lib{root.name}Kernel.so"] if path.exists()]


def run(command: Sequence[str], folder: Path | str, variables: dict[str, str]) -> str:
    """Run a command, whose messages are shown; return its output. Stop if it fails."""
    environment = {**os.environ, **variables}
    done = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(f"{done.stdout}{shlex.join(command[:4])} ended with exit code {done.returncode}")
    return done.stdout


if __name__ == "__main__":
    main()
