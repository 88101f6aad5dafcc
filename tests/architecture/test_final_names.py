"""Files get their final names in one place of each language; what is renamed elsewhere has a reason."""

import ast
import re
from collections.abc import Iterator

from architecture.checkout import ROOT, package_files, place_of, syntax_tree, tracked_files, where

# By function: why a power failure may take what is renamed there. None of them may ever be torn while the machine runs.
PYTHON = {
    "foundation/atomic_files.py:give_name": "the one place",
    "foundation/atomic_files.py:replacing_by_ending": "to a temporary name, which `give_name` ends",
    "live/managed/writer.py:publish": "to a hidden name, which is published",
    "live/managed/preload.py:_library": "a copy in the cache, whose bytes are compared before it is used",
    "live/channels/requests.py:take": "a request of a running process to another one",
    "live/channels/requests.py:_write_atomically": "a request of a running process to another one",
    "live/nodes/local_channel.py:open": "of a channel, which lives in memory",
    "live/nodes/local_token.py:make_token": "the token of a running server, created again when it is missing",
    "execution/checkpoint/key.py:_make": "linked, so that the first of many processes wins, and synced there",
    "live/notices/file.py:begin": "what a running analysis reports",
    "lab/mdreel_lab/bench": "data of benchmarks, which are made anew",
}
RUST = {
    "crates/mdreel-core/src/writer/final_name.rs": "the one place",
    "crates/mdreel-preload/src/intercept.rs": "renames of the programs into which it is loaded",
    "crates/mdreel-preload/src/close.rs": "files of programs that do not sync: as durable as the program made them",
    "crates/mdreel-preload/src/c.rs": "flags of the call",
    "crates/mdreel-preload/src/next.rs": "the call of the former two",
    "crates/mdreel-preload/src/parts.rs": "a name that is remembered",
}
RENAME = re.compile(r"\brename\w*\s*\(|\bhard_link\s*\(|\bpersist\w*\s*\(")


def renames(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """The calls that give a file another name, with the functions that they are in."""

    def visit(node: ast.AST, function: str) -> Iterator[tuple[str, int]]:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            function = node.name
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            name, module = node.func.attr, node.func.value
            is_of_os = isinstance(module, ast.Name) and module.id in ("os", "shutil")
            # Of a text, two words are replaced; of data classes, named fields.
            is_path = name in ("rename", "hardlink_to") or (
                name == "replace" and len(node.args) == 1 and not node.keywords
            )
            if is_path or (is_of_os and name in ("replace", "rename", "renames", "link", "move")):
                yield function, node.lineno
        for child in ast.iter_child_nodes(node):
            yield from visit(child, function)

    yield from visit(tree, "")


def test_python_files_get_their_final_names_in_one_place() -> None:
    wrong, used = [], set()
    for path in package_files():
        for function, line in renames(syntax_tree(path)):
            name = place_of(path)
            keys = {f"{name}:{function}", "/".join(name.split("/")[:3])} & PYTHON.keys()
            used |= keys
            if not keys:
                wrong.append(
                    f"{where(path, line)}: {function}: use mdreel.foundation.atomic_files, or say here why not"
                )
    assert not wrong, "\n".join(wrong)
    assert used == PYTHON.keys(), "these are not renamed any more"


def test_rust_files_get_their_final_names_in_one_place() -> None:
    wrong, used = [], set()
    for path in tracked_files(".rs"):
        name = str(path.relative_to(ROOT))
        if "/src/" not in name or "/tests" in name:
            continue
        code = re.split(r"#\[cfg\(test\)\]\s*mod", path.read_text(encoding="utf-8"))[0]
        lines = [at for at, line in enumerate(code.splitlines(), 1) if RENAME.search(line.partition("//")[0])]
        if lines and name in RUST:
            used.add(name)
        elif lines:
            wrong.append(f"{where(path, lines[0])}: use writer::final_name, or say here why not")
    assert not wrong, "\n".join(wrong)
    assert used == RUST.keys(), "these do not rename any more"
