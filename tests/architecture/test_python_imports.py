"""The Python package: imports go down, and nobody inside takes the way through a package root."""

import ast
import importlib
import re
import tomllib

import pytest

from architecture.checkout import PACKAGE, ROOT, layers, package_files, syntax_tree, where


def is_package(module: str) -> bool:
    return (PACKAGE.parent / module.replace(".", "/") / "__init__.py").exists()


def is_module(module: str) -> bool:
    path = PACKAGE.parent / module.replace(".", "/")
    return path.with_suffix(".py").exists() or path.with_suffix(".pyi").exists() or is_package(module)


def imports_of_package_roots(tree: ast.Module) -> list[tuple[int, str]]:
    """Line and name of each import whose target is a package of mdreel rather than a module in it."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names if alias.name.split(".")[0] == "mdreel"]
            found = [(line, name) for line, name in found if is_package(name)]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "mdreel":
            module = node.module or ""
            missing = [alias.name for alias in node.names if not is_module(f"{module}.{alias.name}")]
            found += [(node.lineno, f"{name} from {module}") for name in missing if is_package(module)]
    return found


def test_layers_of_import_linter_are_those_of_the_architecture_page() -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        contracts = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    (contract,) = [contract for contract in contracts if contract["type"] == "layers"]
    assert [re.findall(r"\w+", layer) for layer in reversed(contract["layers"])] == layers("Python")


def test_modules_import_no_package_root() -> None:
    inside = [path for path in package_files() if path.name != "__init__.py"]
    assert inside, "the package has modules"
    wrong = []
    for path in inside:
        wrong += [f"{where(path, line)}: {name}" for line, name in imports_of_package_roots(syntax_tree(path))]
    assert not wrong, "import from the module that defines the name:\n" + "\n".join(wrong)


@pytest.mark.parametrize(
    ("line", "is_wrong"),
    [
        ("import mdreel", True),
        ("from mdreel import RMSD", True),
        ("from mdreel import errors", False),
        ("from mdreel.errors import FormatError", False),
        ("from mdreel.analysis import RMSD", True),
        ("from mdreel.analysis.rmsd import RMSD", False),
        ("from MDAnalysis import Universe", False),
    ],
)
def test_search_for_root_imports_finds_them(line: str, is_wrong: bool) -> None:
    assert bool(imports_of_package_roots(ast.parse(line))) == is_wrong


def test_imports_are_absolute() -> None:
    wrong = [
        where(path, node.lineno)
        for path in package_files()
        for node in ast.walk(syntax_tree(path))
        if isinstance(node, ast.ImportFrom) and node.level > 0
    ]
    assert not wrong, "write the module's full name:\n" + "\n".join(wrong)


def is_re_export(node: ast.stmt) -> bool:
    """Whether a statement only passes names on; lazily too, which keeps `import mdreel` quick."""
    match node:
        case ast.Import() | ast.ImportFrom() | ast.Expr(value=ast.Constant()) | ast.If(test=ast.Name("TYPE_CHECKING")):
            return True
        case ast.FunctionDef(name="__getattr__" | "__dir__"):
            return True
        case ast.Assign(targets=[ast.Tuple()], value=ast.Call(func=ast.Attribute(attr="attach_stub"))):
            return True
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return name in {"__all__", "__version__"} or name.startswith("_")
    return False


def test_init_files_only_re_export() -> None:
    roots = [path for path in package_files() if path.name == "__init__.py"]
    wrong = [where(path, node.lineno) for path in roots for node in syntax_tree(path).body if not is_re_export(node)]
    assert not wrong, "an __init__ file only re-exports:\n" + "\n".join(wrong)


def test_modules_keep_no_state() -> None:
    wrong = [
        where(path, node.lineno)
        for path in package_files()
        for node in ast.walk(syntax_tree(path))
        if isinstance(node, ast.Global)
    ]
    assert not wrong, "no `global`: state belongs to an object:\n" + "\n".join(wrong)


def test_public_objects_of_the_core_module_have_docstrings() -> None:
    core = importlib.import_module("mdreel._core")
    public = {name: getattr(core, name) for name in dir(core) if not name.startswith("_")}
    assert public, "the core exposes something"
    members = {
        f"{name}.{member}": getattr(value, member)
        for name, value in public.items()
        if isinstance(value, type) and not issubclass(value, BaseException)
        for member in vars(value)
        if not member.startswith("_")
    }
    bare = [name for name, value in {**public, **members}.items() if not getattr(value, "__doc__", None)]
    assert not bare, f"without a docstring: {', '.join(bare)}"


MUTABLE = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)
MUTATES = {"append", "extend", "insert", "add", "update", "setdefault", "pop", "popitem", "remove", "discard", "clear"}


def mutated_module_state(tree: ast.Module) -> list[tuple[int, str]]:
    """Line and name of each list, dictionary or set of a module that the module changes."""
    names = set()
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, MUTABLE):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {target.id for target in targets if isinstance(target, ast.Name)}
    found = []
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        local = {
            node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        local |= {argument.arg for argument in ast.walk(function) if isinstance(argument, ast.arg)}
        for node in ast.walk(function):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in MUTATES:
                changed = node.func.value
            elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store | ast.Del):
                changed = node.value
            else:
                continue
            if isinstance(changed, ast.Name) and changed.id in names - local:
                found.append((node.lineno, changed.id))
    return found


def test_modules_change_none_of_their_lists_dictionaries_and_sets() -> None:
    wrong = [
        f"{where(path, line)}: {name}"
        for path in package_files()
        for line, name in mutated_module_state(syntax_tree(path))
    ]
    assert not wrong, "state belongs to an object:\n" + "\n".join(wrong)


@pytest.mark.parametrize(
    ("body", "is_wrong"),
    [
        ("SEEN.append(1)", True),
        ("SEEN[0] = 1", True),
        ("del SEEN[0]", True),
        ("SEEN = []\n    SEEN.append(1)", False),
        ("other = [*SEEN]\n    other.append(1)", False),
    ],
)
def test_search_for_module_state_finds_it(body: str, is_wrong: bool) -> None:
    assert bool(mutated_module_state(ast.parse(f"SEEN = []\n\n\ndef look():\n    {body}\n"))) == is_wrong
