"""Build a Python interpreter that has Global Arrays built in, beside the interpreter that runs this program.

    python extras/global_arrays/build.py
    python extras/global_arrays/build.py --compiler mpicc -- -L/opt/ga/lib -lga -larmci -llapack -lblas -lgfortran

What follows -- are the link options of Global Arrays and of what it needs. Compiler and options are those of Debian's
packages for Open MPI unless given. The interpreter is named python-global-arrays and sees the packages of the one
beside which it lies.
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
import sysconfig
from pathlib import Path

SOURCE = Path(__file__).with_name("interpreter.c")
NAME = "python-global-arrays"
# The last three are there without their packages for developing.
DEBIAN = "-lga-openmpi -lscalapack-openmpi -larmci-openmpi -l:liblapack.so.3 -l:libblas.so.3 -l:libgfortran.so.5"


def python_options() -> list[str]:
    """Return what links the library of Python: the shared one where there is one."""
    variables = sysconfig.get_config_vars()
    version = variables["LDVERSION"]
    folders = [Path(variables[name]) for name in ("LIBDIR", "LIBPL")]
    if variables.get("MULTIARCH"):
        folders.append(folders[0] / variables["MULTIARCH"])
    for folder in folders:
        if (folder / f"libpython{version}.so").exists():
            return [f"-L{folder}", f"-Wl,-rpath,{folder}", f"-lpython{version}"]
    needed = shlex.split(" ".join(variables[name] or "" for name in ("MODLIBS", "LIBS", "SYSLIBS")))
    for folder in folders:
        if (archive := folder / f"libpython{version}.a").exists():
            # All of it: extension modules use what the interpreter itself does not.
            return ["-Wl,--whole-archive", str(archive), "-Wl,--no-whole-archive", *needed]
    found_in = ", ".join(map(str, folders))
    sys.exit(f"build.py: no libpython{version} in {found_in}: install it (Debian, Ubuntu: libpython{version}-dev)")


def main() -> None:
    """Compile and link; the program gets its name when it is whole."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--compiler", default="mpicc.openmpi", help="the C compiler of the MPI that Global Arrays was made for"
    )
    parser.add_argument("options", nargs="*", default=shlex.split(DEBIAN), metavar="OPTION", help="a link option")
    chosen = parser.parse_args()
    output = Path(sys.executable).parent / NAME
    part = output.with_name(f"{NAME}.part")
    # The libraries of Global Arrays are often not position-independent.
    style = ["-O2", "-Wall", "-Werror=implicit-function-declaration", "-fno-pie", "-no-pie", "-Wl,--export-dynamic"]
    command = [chosen.compiler, *style, f"-I{sysconfig.get_path('include')}", str(SOURCE), "-o", str(part)]
    command += [*chosen.options, *python_options(), "-ldl", "-lm"]
    print(shlex.join(command), flush=True)
    try:
        code = subprocess.run(command, check=False).returncode
    except FileNotFoundError:
        sys.exit(f"build.py: {chosen.compiler} was not found: --compiler says which C compiler to use")
    if code:
        sys.exit(code)
    part.replace(output)
    print(output)


if __name__ == "__main__":
    main()
