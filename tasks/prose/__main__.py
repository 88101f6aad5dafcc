"""Command line of the prose check: `python3 -m tasks.prose [--count] [FILE ...]`."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

from tasks.prose.files import read_passages, select_files
from tasks.prose.rules import check, load_rules

ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    """Print each finding as FILE:LINE: rule: text; return 1 if there is one."""
    parser = argparse.ArgumentParser(prog="python3 -m tasks.prose", description="Check the English of mdreel.")
    parser.add_argument("--count", action="store_true", help="print the number of findings of each file and rule")
    parser.add_argument("files", nargs="*", type=Path, help="the files to check, instead of those in rules.toml")
    arguments = parser.parse_args()
    rules = load_rules()
    paths = [path.resolve() for path in arguments.files] or select_files(ROOT, rules.files, rules.exclude)
    findings = [finding for path in paths for finding in check(read_passages(path), rules)]
    names = {path: path.relative_to(ROOT) if path.is_relative_to(ROOT) else path for path in paths}
    if arguments.count:
        for counts in (Counter(str(names[one.path]) for one in findings), Counter(one.rule for one in findings)):
            print("\n".join(f"{count:6} {name}" for name, count in counts.most_common()), end="\n\n")
    else:
        for one in findings:
            print(f"{names[one.path]}:{one.line}: {one.rule}: {one.text}")
    print(f"{len(paths)} files, {len(findings)} findings", file=sys.stderr)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
