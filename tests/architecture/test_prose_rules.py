"""The prose check finds what its rules forbid, and nothing else."""

import subprocess
import sys
from pathlib import Path

import pytest

from architecture.checkout import ROOT

sys.path.insert(0, str(ROOT))  # the tasks of the checkout are no installed package

from tasks.prose.files import read_passages, select_files
from tasks.prose.passages import Passage
from tasks.prose.rules import Rule, check, load_rules

RULES = load_rules()
BY_NAME = pytest.mark.parametrize("rule", RULES.rules, ids=[rule.name for rule in RULES.rules])
PAIRS = pytest.mark.parametrize(("before", "better"), RULES.pairs, ids=range(len(RULES.pairs)))


def findings(folder: Path, text: str, name: str = "page.md") -> list[tuple[str, int]]:
    """Return the rules that a text breaks, with the lines."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return [(one.rule, one.line) for one in check(read_passages(path), RULES)]


def broken(text: str, rule: Rule | None = None) -> set[str]:
    """Return the rules that a sentence breaks; as a passage of each kind that the rule checks."""
    kind = min(rule.kinds) if rule is not None and rule.kinds else "paragraph"
    sentences = [one.text for one in Passage(Path(), kind, ((1, text),), {}).sentences()]
    return {one.name for one in RULES.rules for sentence in sentences if one.find(kind, sentence) is not None}


@BY_NAME
def test_rule_finds_its_bad_examples(rule: Rule) -> None:
    assert rule.bad, "a rule has examples"
    assert [text for text in rule.bad if rule.name not in broken(text, rule)] == []


@BY_NAME
def test_no_rule_finds_the_good_examples(rule: Rule) -> None:
    assert rule.good, "a rule has examples"
    assert {text: names for text in rule.good if (names := broken(text, rule))} == {}


@PAIRS
def test_sentences_before_rewriting_are_found(tmp_path: Path, before: str, better: str) -> None:
    assert findings(tmp_path, before)


@PAIRS
def test_sentences_after_rewriting_are_not_found(tmp_path: Path, before: str, better: str) -> None:
    assert findings(tmp_path, better) == []


def test_findings_name_the_line_where_the_sentence_begins(tmp_path: Path) -> None:
    assert findings(tmp_path, "# Title\n\nA fine sentence. It must be read. The\nend must be said.\n") == [("says", 3)]


def test_code_comments_and_generated_tables_are_not_checked(tmp_path: Path) -> None:
    text = (
        "```text\nThe end must be said.\n```\n\n`The end must be said.`\n\n<!-- The end must be said. -->\n\n"
        "<!-- table:begin -->\nThe end must be said.\n<!-- table:end -->\n\n"
        "````{code-block} python\n# The end must be said.\n````\n"
    )
    assert findings(tmp_path, text) == []


def test_headings_items_cells_and_admonitions_are_checked(tmp_path: Path) -> None:
    line = "the end must be said"
    table = f"| Head |\n|---|\n| {line} |"
    text = f"# {line}\n\n* {line}\n* {line}\n\n{table}\n\n:::{{note}}\n{line}\n:::\n\n```{{tip}}\n{line}\n```\n{line}\n"
    assert findings(tmp_path, text) == [("says", number) for number in (1, 3, 4, 8, 11, 15, 17)]


def test_waivers_excuse_one_sentence_and_the_rules_that_they_name(tmp_path: Path) -> None:
    said = "The end must be said."
    assert findings(tmp_path, f"{said} <!-- prose: allow says -->\n\n{said}\n") == [("says", 3)]
    assert findings(tmp_path, f"<!-- prose: allow -->\n{said}\n") == []
    assert findings(tmp_path, f"{said} <!-- prose: allow dash -->\n") == [("says", 1)]


def test_docstrings_and_help_texts_are_checked(tmp_path: Path) -> None:
    source = '''"""The end must be said."""


def run(option):
    """What is asked, by whom.

    Parameters
    ----------
    said : the end must be said
        The end must be said.

    Examples
    --------
    >>> run("the end must be said")
    """
    option("--end", help=f"The end of {run} "
           "must be said.")
'''
    found = findings(tmp_path, source, "module.py")
    assert {("says", 1), ("bare-clause", 5), ("no-imperative", 5), ("says", 10), ("says", 16)} <= set(found)
    assert {line for _, line in found} == {1, 5, 10, 16}


def test_texts_of_scenarios_are_checked_with_their_lines(tmp_path: Path) -> None:
    source = '''
title = "What is wanted"
workload = "what"

about = """
The scheme is plain. Nothing is said here.
What the rank says is a riddle to all,
and the end is not
"""

[[claim]]
text = "What is wanted"
'''
    found = findings(tmp_path, source, "scenario.toml")
    assert {line for _, line in found} <= {2, 6, 7, 8, 12}
    assert {2, 7, 12} <= {line for _, line in found}


def test_checked_files_are_those_of_the_rules() -> None:
    names = {str(path.relative_to(ROOT)) for path in select_files(ROOT, RULES.files, RULES.exclude)}
    assert {"README.md", "docs/index.md", "docs/design/001-architecture.md", "python/mdreel/cli/main.py"} <= names
    assert not names & set(RULES.exclude)


def test_generated_pages_that_git_ignores_are_not_checked(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    (tmp_path / ".gitignore").write_text("/generated/\n")
    (tmp_path / "generated").mkdir()
    for name in ("generated/page.md", "new.md"):
        (tmp_path / name).write_text("# Page\n")
    assert select_files(tmp_path, ["**/*.md"], []) == [tmp_path / "new.md"]
