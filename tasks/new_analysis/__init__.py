"""Generator of the files of a new analysis, from the templates in this folder.

The analysis that it writes runs: it computes the radius of gyration. Replace its computation, names and units by yours.
"""

import re
from pathlib import Path
from string import Template

from tasks.environment import ROOT
from tasks.output import TaskError

TEMPLATES = {
    "analysis.py.in": "python/mdreel/analysis/{module}.py",
    "command.py.in": "python/mdreel/cli/analyses/{module}.py",
    "test.py.in": "tests/analysis/test_{module}.py",
}
"""Templates, and the files that they become."""


def new_analysis(class_name: str, summary: str, root: Path = ROOT) -> list[Path]:
    """Write the files of an analysis and its lines in three lists; return the paths of all.

    `class_name` is the public name ("HelixTilt"), `summary` the first line of its docstring ("Tilt of a helix in each
    frame.").
    """
    if not re.fullmatch(r"[A-Z][A-Za-z0-9]+", class_name):
        raise TaskError(f"{class_name!r} is no class name: use words that begin with capitals, such as HelixTilt")
    module = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", class_name).lower()
    names = {
        "class_name": class_name,
        "module": module,
        "command": module.replace("_", "-"),
        "summary": summary.strip().rstrip(".") + ".",
    }
    texts = {
        root / path.format_map(names): Template((Path(__file__).parent / template).read_text("utf-8")).substitute(names)
        for template, path in TEMPLATES.items()
    }
    for path in texts:
        if path.exists():
            raise TaskError(f"{path.relative_to(root)} exists: choose another name for the analysis")
    texts |= dict(_registered(names, root))
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8")
    return list(texts)


def _registered(names: dict[str, str], root: Path) -> list[tuple[Path, str]]:
    """Return the lists of public names, of commands and of tested analyses with the new one."""
    exports = root / "python/mdreel/__init__.pyi"
    lines = exports.read_text("utf-8").splitlines()
    imports = [line for line in lines if line.startswith("from ")]
    others = lines[len(imports) :]
    imports.append("from .analysis.{module} import {class_name} as {class_name}".format_map(names))
    # The order of the linter: by module, capital letters like small ones.
    imports.sort(key=lambda line: (line.split()[1] != ".", [part.lower() for part in line.split()[1:4]]))

    commands = root / "python/mdreel/cli/commands.py"
    entry = '    Entry("{command}", "mdreel.cli.analyses.{module}", "{summary}"),\n'.format_map(names)
    cases = root / "tests/every_analysis.py"
    case = '    "{class_name}": Case(lambda s: mdreel.{class_name}(s.pick(), trajectory=s.trajectory)),\n'.format_map(
        names
    )
    return [
        (exports, "\n".join([*imports, *others]) + "\n"),
        (commands, _with_last_line(commands, "ANALYSES = (\n", ")\n", entry)),
        (cases, _with_last_line(cases, "CASES = {\n", "}\n", case)),
    ]


def _with_last_line(path: Path, start: str, end: str, line: str) -> str:
    """Return the text of a file with a line added before the end of the list that begins with `start`."""
    head, found, tail = path.read_text("utf-8").partition(f"\n{start}")
    items, closed, rest = tail.partition(f"\n{end}")
    if not (found and closed):
        raise TaskError(f"{path}: no list {start.strip()!r} was found")
    return f"{head}{found}{items}\n{line}{end}{rest}"
