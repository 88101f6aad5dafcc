"""Blind comparison of sentences of mdreel with those of another project: `python3 -m tasks.prose.sample`."""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from tasks.prose.files import read_passages, select_files
from tasks.prose.passages import CODE
from tasks.prose.rules import load_rules

ROOT = Path(__file__).resolve().parents[2]
_PAGES = ("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "docs/design/", "lab/")
"""Pages for developers, from which no sentence is drawn."""
_NAMES = re.compile(r"\b(?:mdreel|MDAnalysis|MDReel)(?:'s)?\b|\b[A-Z][a-z]+(?:[A-Z]\w*)+\b|\b\w+(?:\.\w+)+\(?\)?")


def main() -> int:
    """Write a numbered mix of sentences, and the key that tells which ones are ours."""
    parser = argparse.ArgumentParser(
        prog="python3 -m tasks.prose.sample",
        description="Mix random sentences of mdreel and of another project, for a reader who tells them apart.",
    )
    parser.add_argument("others", type=Path, help="sentences of the other project, one a line")
    parser.add_argument("mix", type=Path, help="the file for the mixed sentences; MIX.key gets the key")
    parser.add_argument("--seed", type=int, default=25, help="seed of the random numbers (default: 25)")
    parser.add_argument("--count", type=int, default=40, help="the number of sentences of each project (default: 40)")
    arguments = parser.parse_args()
    random_numbers = random.Random(arguments.seed)  # noqa: S311
    theirs = [line.strip() for line in arguments.others.read_text(encoding="utf-8").splitlines()]
    pool = {"ours": _own_sentences(), "theirs": sorted({neutralize(one) for one in theirs if _is_usable(one)})}
    drawn = [(text, name) for name, texts in pool.items() for text in random_numbers.sample(texts, arguments.count)]
    random_numbers.shuffle(drawn)
    _write(arguments.mix, [text for text, _ in drawn])
    _write(arguments.mix.with_name(arguments.mix.name + ".key"), [name for _, name in drawn])
    print(f"{len(drawn)} sentences, drawn from {len(pool['ours'])} and {len(pool['theirs'])}", file=sys.stderr)
    return 0


def neutralize(sentence: str) -> str:
    """Return the sentence with names of projects, classes and functions, and code, replaced by X."""
    return re.sub(r"X(?:[ .]X)+\b", "X", _NAMES.sub("X", re.sub(f"{CODE}+", "X", sentence)))


def _own_sentences() -> list[str]:
    """Return the sentences of the README, the pages for users and the public docstrings, without names."""
    rules = load_rules()
    found: set[str] = set()
    for path in select_files(ROOT, rules.files, rules.exclude):
        name = path.relative_to(ROOT)
        if name.as_posix().startswith(_PAGES) or any(one.startswith("_") for one in name.parts):
            continue
        for passage in read_passages(path):
            if passage.kind in ("paragraph", "docstring", "module"):
                found.update(neutralize(one.text) for one in passage.sentences() if _is_usable(one.text))
    return sorted(found)


def _is_usable(sentence: str) -> bool:
    """Return whether a sentence is a complete one of 8 to 30 words."""
    return 8 <= len(sentence.split()) <= 30 and sentence.endswith(".") and sentence[0].isalpha()


def _write(path: Path, lines: Sequence[str]) -> None:
    path.write_text("".join(f"{number:3} {line}\n" for number, line in enumerate(lines, start=1)), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
