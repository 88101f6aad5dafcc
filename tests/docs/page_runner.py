"""Program that runs the blocks of a page in the working directory: ``python page_runner.py BLOCKS.json``.

Blocks of Python share their names, as in a notebook. Commands share the variables of the shell, as in a terminal. The
program ends with the first error, and names its line.
"""

import json
import subprocess
import sys
import traceback
import warnings
from pathlib import Path
from typing import Any

from docs.code_blocks import commands, outline

VARIABLES = Path(".variables")
"""The file that keeps the variables of the shell from one command to the next."""


def main() -> None:
    """Run the blocks."""
    warnings.simplefilter("ignore")
    sys.argv = ["page"]
    page = json.loads(Path("blocks.json").read_text(encoding="utf-8"))
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(page["before"], names)
    for block in page["blocks"]:
        try:
            if block["file"]:
                Path(block["file"]).write_text(block["code"], encoding="utf-8")
            else:
                run(block["language"], block["code"], names)
        except BaseException:  # noqa: BLE001 (the page also fails when a block ends the program)
            traceback.print_exc()
            print(f"{page['name']}:{block['line']}: this block failed", file=sys.stderr)
            sys.exit(1)


def run(language: str, code: str, names: dict[str, Any]) -> None:
    """Run a block; compare the output of the commands with the page."""
    if language == "python":
        exec(compile(code, "page", "exec"), names)
    elif language == "sh":
        answer(code)
    else:
        for command, expected in commands(code):
            fails = any(line.startswith("mdreel: error:") for line in expected)
            printed = iter([outline(line) for line in answer(command, fails).splitlines()])
            for line in expected:
                wanted = outline(line)
                if wanted not in ("", "...", "…") and wanted not in printed:
                    raise AssertionError(f"{command!r} does not print this line, or not here: {line!r}")


def answer(command: str, fails: bool = False) -> str:
    """Return what a command of the shell prints, on both streams; check whether it fails."""
    if VARIABLES.exists():
        command = f"source {VARIABLES}\n{command}"
    keep = f"export -p | grep -v '^declare -[a-z]*r' > {VARIABLES}"  # not those that bash protects, such as UID
    done = subprocess.run(
        ["bash", "-e", "-a", "-c", f"{command}\n{keep}"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if bool(done.returncode) != fails:
        raise AssertionError(f"{command!r} ended with exit code {done.returncode}:\n{done.stdout}")
    return done.stdout


if __name__ == "__main__":
    main()
