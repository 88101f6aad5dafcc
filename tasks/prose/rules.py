"""Rules of plain English, read from rules.toml, and the sentences that break them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tasks.prose.passages import CODE, Passage, Sentence

RULES = Path(__file__).with_name("rules.toml")
_WORD = re.compile(rf"[\w{CODE}]+(?:[-'’.,/][\w{CODE}]+)*")


@dataclass(frozen=True)
class Rule:
    """A rule: a pattern that no sentence may contain, or a limit of its length.

    Attributes
    ----------
    name : str
        The name that findings show and waivers use.
    message : str
        What to write instead.
    pattern : re.Pattern or None
        Finds what breaks the rule.
    unless : re.Pattern or None
        Sentences that match are not checked.
    most_words : int or None
        The longest sentence.
    kinds : frozenset of str
        The kinds of passages that are checked; empty for all.
    skip : frozenset of str
        The kinds of passages that are not checked.
    bad, good : tuple of str
        Examples that break and keep the rule.
    """

    name: str
    message: str
    pattern: re.Pattern[str] | None
    unless: re.Pattern[str] | None
    most_words: int | None
    kinds: frozenset[str]
    skip: frozenset[str]
    bad: tuple[str, ...]
    good: tuple[str, ...]

    def find(self, kind: str, sentence: str) -> str | None:
        """Return the words of a sentence that break the rule; None if it keeps the rule."""
        if (self.kinds and kind not in self.kinds) or kind in self.skip:
            return None
        if self.unless and self.unless.search(sentence):
            return None
        if self.most_words is not None:
            n_words = len(_WORD.findall(sentence))
            return f"{n_words} words" if n_words > self.most_words else None
        match = self.pattern.search(sentence) if self.pattern else None
        return match[0].strip() if match else None


@dataclass(frozen=True)
class Rules:
    """The rules, the files that they are applied to, and pairs of sentences before and after rewriting."""

    files: tuple[str, ...]
    exclude: tuple[str, ...]
    rules: tuple[Rule, ...]
    pairs: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Finding:
    """A sentence that breaks a rule."""

    path: Path
    line: int
    rule: str
    text: str


def load_rules(path: Path = RULES) -> Rules:
    """Return the rules of a TOML file."""
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    pairs = tuple((pair["before"], pair["better"]) for pair in data["pair"])
    return Rules(tuple(data["files"]), tuple(data["exclude"]), tuple(_rule(**one) for one in data["rule"]), pairs)


def _rule(
    *,
    name: str,
    message: str,
    bad: list[str],
    good: list[str],
    pattern: str | None = None,
    words: list[str] | None = None,
    unless: str | None = None,
    most_words: int | None = None,
    kinds: Iterable[str] = (),
    skip: Iterable[str] = (),
) -> Rule:
    if words:
        pattern = rf"(?<!\w)(?:{'|'.join(words)})(?!\w)"
    found = re.compile(pattern, re.IGNORECASE if words else 0) if pattern else None
    excused = re.compile(unless) if unless else None
    return Rule(name, message, found, excused, most_words, frozenset(kinds), frozenset(skip), tuple(bad), tuple(good))


def check(passages: Iterable[Passage], rules: Rules) -> Iterator[Finding]:
    """Yield a finding for each sentence and rule that do not agree."""
    for passage in passages:
        for at, sentence in enumerate(passage.sentences()):
            kind = "docstring" if at and passage.kind == "summary" else passage.kind
            for rule in rules.rules:
                found = rule.find(kind, sentence.text)
                if found is not None and not passage.waives(rule.name, sentence):
                    yield Finding(passage.path, sentence.first_line, rule.name, _describe(rule, found, sentence))


def _describe(rule: Rule, found: str, sentence: Sentence) -> str:
    text = re.sub(rf"{CODE}+", CODE, sentence.text)
    text = text if len(text) <= 120 else f"{text[:117]}..."
    return f'"{found}" in "{text}": {rule.message}'
