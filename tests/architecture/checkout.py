"""What the checks of the house look at: the files of the checkout, and the table of layers in ARCHITECTURE.md."""

import ast
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python" / "mdreel"
LAB = ROOT / "lab" / "mdreel_lab"
CORE = ROOT / "crates" / "mdreel-core"
CHANNEL = ROOT / "crates" / "mdreel-channel"


def tracked_files(*endings: str) -> list[Path]:
    """The files that git keeps or would keep, with one of the endings; all of them without."""
    command = ["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\0")
    paths = sorted({ROOT / name for name in names if name.endswith(endings or ("",)) and name})
    return [path for path in paths if path.is_file()]


def package_files() -> list[Path]:
    """The modules of mdreel and of the lab."""
    return [path for path in tracked_files(".py") if path.is_relative_to(PACKAGE) or path.is_relative_to(LAB)]


def place_of(path: Path) -> str:
    """The path of a module in the package, or in the checkout for a module of the lab."""
    return str(path.relative_to(PACKAGE if path.is_relative_to(PACKAGE) else ROOT))


def syntax_tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def layers(column: str) -> list[list[str]]:
    """The modules of each layer of one side, from the lowest layer to the highest; `column` is Rust or Python."""
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    table = "layers" if column == "Rust" else "python-layers"
    section = text.split(f"<!-- {table}:begin -->")[1].split(f"<!-- {table}:end -->")[0]
    rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in section.strip().splitlines()]
    header, _, *body = rows
    at = header.index(column)
    return [re.findall(r"`(\w+)`", row[at]) for row in reversed(body) if re.findall(r"`(\w+)`", row[at])]


def where(path: Path, line: int | None = None) -> str:
    return f"{path.relative_to(ROOT)}" + (f":{line}" if line else "")


def names_of_tests() -> set[str]:
    """The functions that are tests, of Python and of Rust."""
    python = [path for path in tracked_files(".py") if path.is_relative_to(ROOT / "tests")]
    rust = [path for path in tracked_files(".rs") if path.is_relative_to(ROOT / "crates")]
    function = re.compile(r"^def (test_\w+)|^ *#\[test\]\n(?: *#\[.*\]\n)* *fn (\w+)", re.MULTILINE)
    found = (match for path in python + rust for match in function.finditer(path.read_text(encoding="utf-8")))
    return {match[1] or match[2] for match in found}
