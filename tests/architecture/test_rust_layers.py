"""The core crate: modules import downwards only, and the crate knows no Python."""

import json
import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from architecture.checkout import CORE, ROOT, layers, tracked_files, where

PERMISSIVE = {"Apache-2.0", "MIT", "BSD-2-Clause", "BSD-3-Clause", "ISC", "Unicode-3.0", "Unlicense", "Zlib", "0BSD"}


def rust_code(text: str) -> str:
    """The text without comments and without the module of tests at its end, with the lines kept."""
    return re.sub(r"//.*", "", re.split(r"^#\[cfg\(test\)\]\nmod \w+ \{", text, flags=re.MULTILINE)[0])


def top_level_modules() -> set[str]:
    text = rust_code((CORE / "src" / "lib.rs").read_text(encoding="utf-8"))
    return set(re.findall(r"^(?:pub(?:\([^)]*\))? )?mod (\w+);", text, re.MULTILINE))


def module_path(path: Path) -> list[str]:
    return list(path.relative_to(CORE / "src").with_suffix("").parts)


def names_at_the_root(text: str, roots: list[str]) -> list[tuple[int, str]]:
    """Line and first name of each path that starts at the root of the crate, which is written as one of `roots`."""
    found = []
    start = rf"(?<![\w:])(?:{'|'.join(roots)})::"
    for match in re.finditer(start + r"(?:(\w+)|\{([^;]*?)\}\s*;)", text):
        line = text.count("\n", 0, match.start()) + 1
        group = re.sub(r"\{[^{}]*\}", "", match[2]) if match[2] else match[1]
        found += [(line, name.split("::")[0].strip()) for name in group.split(",") if name.strip()]
    return found


def source_files() -> list[Path]:
    """The modules of the core but its root and those that hold tests only: a test may use all layers."""
    modules = [path for path in tracked_files(".rs") if path.is_relative_to(CORE / "src")]
    return [
        path for path in modules if path.name not in {"lib.rs", "internals.rs"} and "tests" not in module_path(path)
    ]


def test_every_module_of_the_core_has_a_layer() -> None:
    named = [module for layer in layers("Rust") for module in layer]
    # A feature shows these to benchmarks; they may use all layers, and nothing uses them.
    missing = top_level_modules() - set(named) - {"internals"}
    assert not missing, f"ARCHITECTURE.md's table of layers lacks {sorted(missing)}"


def test_modules_of_the_core_import_downwards_only() -> None:
    level = {module: height for height, layer in enumerate(layers("Rust")) for module in layer}
    wrong = []
    for path in source_files():
        parts = module_path(path)
        roots = ["crate", "::".join(["super"] * len(parts))]
        for line, name in names_at_the_root(rust_code(path.read_text(encoding="utf-8")), roots):
            if name in level and name != parts[0] and level[name] >= level[parts[0]]:
                wrong.append(f"{where(path, line)}: {parts[0]} imports {name}")
    assert not wrong, "the table of layers in ARCHITECTURE.md allows imports of lower rows only:\n" + "\n".join(wrong)


def test_modules_of_the_core_import_nothing_from_the_crate_root() -> None:
    wrong = [
        f"{where(path, line)}: crate::{name}"
        for path in source_files()
        for line, name in names_at_the_root(rust_code(path.read_text(encoding="utf-8")), ["crate"])
        if name not in top_level_modules()
    ]
    assert not wrong, "import from the module that defines the name:\n" + "\n".join(wrong)


def test_search_for_imports_sees_every_way_of_writing_them() -> None:
    text = """use crate::error::{Error, Result};
use crate::{frame::{Columns, FrameBatch}, span};
let outcome = super::run::run();
use super::super::kernel;
"""
    assert names_at_the_root(text, ["crate"]) == [(1, "error"), (2, "frame"), (2, "span")]
    assert names_at_the_root(text, ["super"])[0] == (3, "run")
    assert names_at_the_root(text, ["super::super"]) == [(4, "kernel")]


@cache
def cargo_metadata() -> Any:
    path = os.pathsep.join([os.environ.get("PATH", os.defpath), str(Path.home() / ".cargo" / "bin")])
    cargo = shutil.which("cargo", path=path)
    assert cargo is not None, "cargo is needed to look at the dependencies of the core"
    command = [cargo, "metadata", "--locked", "--format-version", "1", "--manifest-path", str(ROOT / "Cargo.toml")]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def shipped_packages(root: str) -> list[dict[str, Any]]:
    """The packages that end up in what we ship of a crate of the workspace: no development dependencies."""
    metadata = cargo_metadata()
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    waiting = [identity for identity, package in packages.items() if package["name"] == root]
    seen: set[str] = set()
    while waiting:
        identity = waiting.pop()
        if identity not in seen:
            seen.add(identity)
            kinds = {dep["pkg"]: {kind["kind"] for kind in dep["dep_kinds"]} for dep in nodes[identity]["deps"]}
            waiting += [dep for dep, of in kinds.items() if of != {"dev"}]
    return [packages[identity] for identity in seen]


def is_permissive(expression: str) -> bool:
    """Whether an SPDX expression leaves a choice in which every licence is permissive."""
    words = re.findall(r"[()]|[\w.+-]+", re.sub(r"\bWITH [\w.-]+", "", expression.replace("/", " OR ")))
    operators = {"(": "(", ")": ")", "AND": "and", "OR": "or"}
    return bool(eval(" ".join(operators.get(word) or str(word in PERMISSIVE) for word in words)))


def test_core_depends_on_no_python() -> None:
    names = {package["name"] for package in shipped_packages("mdreel-core")}
    assert "mdreel-core" in names
    python = {name for name in names if "python" in name or name.startswith("pyo3") or name == "numpy"}
    assert not python, f"the core knows no Python, but depends on {sorted(python)}"


@pytest.mark.parametrize(
    ("crate", "expected"),
    [
        ("mdreel-core", {"mdreel-core"}),
        ("mdreel-channel", {"mdreel-channel", "mdreel-core"}),
        ("mdreel-channel-c", {"mdreel-channel-c", "mdreel-channel", "mdreel-core"}),
        ("mdreel-preload", {"mdreel-preload"}),
    ],
)
def test_crates_need_only_the_crates_below_them(crate: str, expected: set[str]) -> None:
    ours = {package["name"] for package in shipped_packages(crate) if package["source"] is None}
    assert ours == expected


@pytest.mark.parametrize("crate", ["mdreel-core", "mdreel-channel"])
def test_development_dependencies_lead_to_no_crate_of_ours(crate: str) -> None:
    package = next(package for package in cargo_metadata()["packages"] if package["name"] == crate)
    development = {dependency["name"] for dependency in package["dependencies"] if dependency["kind"] == "dev"}
    assert not {name for name in development if name.startswith("mdreel")}


def test_shipped_crates_have_permissive_licences() -> None:
    packages = shipped_packages("mdreel-py")
    assert {"mdreel-core", "pyo3"} <= {package["name"] for package in packages}
    licences = {f"{package['name']} {package['version']}": package["license"] or "none" for package in packages}
    wrong = [f"{name}: {licence}" for name, licence in licences.items() if not is_permissive(licence)]
    assert not wrong, "licences that do not go with Apache-2.0 OR MIT:\n" + "\n".join(wrong)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("MIT", True),
        ("MIT/Apache-2.0", True),
        ("(MIT OR GPL-3.0) AND Unicode-3.0", True),
        ("Apache-2.0 WITH LLVM-exception OR GPL-2.0", True),
        ("GPL-3.0", False),
        ("LGPL-2.1+", False),
        ("MIT AND GPL-3.0", False),
        ("(MIT OR Apache-2.0) AND LGPL-3.0", False),
        ("none", False),
    ],
)
def test_licence_check_tells_permissive_from_copyleft(expression: str, expected: bool) -> None:
    assert is_permissive(expression) == expected
