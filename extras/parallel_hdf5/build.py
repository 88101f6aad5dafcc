"""Build h5py for parallel HDF5, in an environment of its own that has the packages of the one it is built with.

    python extras/parallel_hdf5/build.py
    CC=mpicc HDF5_DIR=/opt/hdf5 python extras/parallel_hdf5/build.py

CC is the C compiler of an MPI, HDF5_DIR an HDF5 that was built with it; both are those of Debian's packages for Open
MPI unless given, like the options of the compiler (CFLAGS). The environment is the folder parallel-hdf5 in that of the
interpreter that runs this program, which needs mpi4py, cython, pkgconfig and setuptools.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

LOCK = Path(__file__).parents[2] / "requirements" / "develop.txt"
OUTPUT = Path(sys.prefix, "parallel-hdf5")
DEBIAN = {
    "CC": "mpicc.openmpi",
    "HDF5_DIR": f"/usr/lib/{sysconfig.get_config_var('MULTIARCH')}/hdf5/openmpi",
    "HDF5_MPI": "ON",
    "CFLAGS": "-O1 -g0",  # its C code calls HDF5 and little else, and takes minutes to compile otherwise
}


def main() -> None:
    """Build; the environment gets its name when it is whole."""
    locked = re.search(r"^h5py==.*\n(?: +--hash.*\n)+", LOCK.read_text(encoding="utf-8"), re.MULTILINE)
    assert locked is not None, "the lock file names h5py"
    part = OUTPUT.with_name(f"{OUTPUT.name}.part")
    subprocess.run([sys.executable, "-m", "venv", "--clear", "--without-pip", part], check=True)
    packages = part / Path(sysconfig.get_path("purelib")).relative_to(sys.prefix)
    # What that environment itself takes from others belongs to it.
    ours = f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n"
    (packages / "packages.pth").write_text(ours, encoding="utf-8")
    requirement = part / "h5py.txt"
    requirement.write_text(locked[0], encoding="utf-8")
    pip = [sys.executable, "-m", "pip", "--python", part / "bin" / "python", "--disable-pip-version-check", "install"]
    # Neither the wheel, which is serial, nor what pip has kept of a build with another HDF5.
    source = ["--no-binary", "h5py", "--no-cache-dir", "--ignore-installed", "--no-build-isolation", "--no-deps"]
    command = [*map(str, pip), *source, "--require-hashes", "-r", str(requirement)]
    if code := subprocess.run(command, env={**DEBIAN, **os.environ}, check=False).returncode:
        sys.exit(code)
    shutil.rmtree(OUTPUT, ignore_errors=True)
    part.rename(OUTPUT)
    print(OUTPUT)


if __name__ == "__main__":
    main()
