"""The modules of a Rust crate and what each of them imports."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from architecture.checkout import tracked_files

Module = tuple[str, ...]
"""The path of a module from the root of its crate, which is the empty tuple."""

PATH_START = re.compile(r"(?<![\w:])(?:(crate|self)|((?:super::)*super)|([a-z_]\w*))::")
SHOWN = re.compile(r"^ *pub(?:\([^)]*\))? use (?:self::)?(?=\w)", re.MULTILINE)


def rust_code(text: str) -> str:
    """The text without comments and without the module of tests at its end, with the lines kept."""
    code = re.sub(r"//.*", "", re.split(r"^#\[cfg\(test\)\]\nmod \w+ \{", text, flags=re.MULTILINE)[0])
    return re.sub(r"\bpub\(in [^)]*\)", "pub(super)", code)


def modules_of(crate: Path) -> dict[Module, str]:
    """The code of each module of a crate; modules that hold tests only are left out."""
    source = crate / "src"
    paths = [path for path in tracked_files(".rs") if path.is_relative_to(source)]
    modules = {path.relative_to(source).with_suffix("").parts: path for path in paths}
    shipped = {module: path for module, path in modules.items() if "tests" not in module}
    return {
        () if module == ("lib",) else module: rust_code(path.read_text(encoding="utf-8"))
        for module, path in shipped.items()
    }


def expanded(text: str, start: int) -> Iterator[tuple[str, ...]]:
    """The paths that go on at `start`: one, or several where a brace opens a group."""
    match = re.match(r"\s*(\w+|\*)", text[start:])
    if match:
        after = start + match.end()
        if text.startswith("::", after):
            yield from ((match[1], *rest) for rest in expanded(text, after + 2))
        else:
            yield (match[1],)
        return
    opened = re.match(r"\s*\{", text[start:])
    if not opened:
        yield ()  # a type in angle brackets, as in `Vec::<u8>`
        return
    at = start + opened.end()
    while True:
        yield from expanded(text, at)
        depth = 0
        while text[at] not in ",}" or depth:
            depth += {"{": 1, "}": -1}.get(text[at], 0)
            at += 1
        if text[at] == "}" or re.match(r",\s*\}", text[at:]):
            return
        at += 1


def resolved(module: Module, code: str, modules: Mapping[Module, str]) -> Iterator[tuple[int, Module, tuple[str, ...]]]:
    """Each path in the code of a module that leads into the crate: where it stands, its module, and what follows."""
    for match in PATH_START.finditer(code):
        root, above, name = match.groups()
        if above:
            start = module[: len(module) - len(above.split("::"))]
        elif root == "crate":
            start = ()
        elif root == "self" or (*module, name) in modules:
            start = module if root else (*module, name)
        else:
            continue
        for path in expanded(code, match.end()):
            target, rest = start, path
            while rest and (*target, rest[0]) in modules:
                target, rest = (*target, rest[0]), rest[1:]
            yield match.start(), target, rest


def shown_names(module: Module, code: str, modules: Mapping[Module, str]) -> dict[str, Module]:
    """The names that a module shows of the modules below it (`pub use`), and where they come from."""
    starts = [(match.start(), match.end()) for match in SHOWN.finditer(code)]
    return {
        rest[0]: target
        for at, target, rest in resolved(module, code, modules)
        if rest and target[: len(module)] == module and any(start < at <= end for start, end in starts)
    }


def imports(modules: Mapping[Module, str]) -> dict[Module, dict[Module, int]]:
    """The modules that each module imports or names in a path, and the line of the first time.

    A name is traced to the module that defines it. To show a name of a module below (`pub use`) is not to import it.
    """
    shown = {module: shown_names(module, code, modules) for module, code in modules.items()}
    found: dict[Module, dict[Module, int]] = {module: {} for module in modules}
    for module, code in modules.items():
        is_shown = [(match.start(), match.end()) for match in SHOWN.finditer(code)]
        for at, target, rest in resolved(module, code, modules):
            if target[: len(module)] == module and any(start < at <= end for start, end in is_shown):
                continue
            origin = target
            while rest and rest[0] in shown[origin]:
                origin = shown[origin][rest[0]]
            if origin != module:
                found[module].setdefault(origin, code.count("\n", 0, at) + 1)
    return found


def cycles(graph: Mapping[Module, Mapping[Module, int]]) -> list[list[Module]]:
    """The groups of modules each of which leads to all others (Tarjan's strongly connected components)."""
    index: dict[Module, int] = {}
    low: dict[Module, int] = {}
    stack: list[Module] = []
    found: list[list[Module]] = []

    def visit(module: Module) -> None:
        index[module] = low[module] = len(index)
        stack.append(module)
        for target in graph[module]:
            if target not in index:
                visit(target)
                low[module] = min(low[module], low[target])
            elif target in stack:
                low[module] = min(low[module], index[target])
        if low[module] == index[module]:
            at = stack.index(module)
            group, stack[at:] = stack[at:], []
            if len(group) > 1:
                found.append(sorted(group))

    for module in graph:
        if module not in index:
            visit(module)
    return found
