"""Hints for command lines that Click cannot parse."""

import re
import shlex
from collections.abc import Collection, Sequence
from typing import Any

import click

from mdreel.foundation.nearest_name import nearest_name, synonym

_MORE = {"and", "or", "not", "around", "same"}
"""Words that continue a selection."""

_UNFINISHED = {"name", "resid", "resname", "segid", "type", "index", "bynum", "chainid", "element", "not", "byres"}
"""Words that are no selection without the word that follows."""

_NEGATIVE_NUMBER = re.compile(r"-[\d.]")
_INPUTS = frozenset(("-s", "--topology", "-f", "--trajectory"))

_WITH_UNIT = re.compile(r"([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*([A-Za-zµÅ°]+)")

_FACTORS = {
    "PS": {"fs": 1e-3, "ps": 1.0, "ns": 1e3, "us": 1e6, "µs": 1e6},
    "Å": {"pm": 1e-2, "A": 1.0, "Å": 1.0, "nm": 10.0},
    "SECONDS": {"ms": 1e-3, "s": 1.0, "sec": 1.0, "min": 60.0, "h": 3600.0},
    "DEGREES": {"deg": 1.0, "degrees": 1.0, "°": 1.0},
}
"""Factors that convert other units to the units of options, by the metavars of the options."""

_NAMES = {"PS": "ps", "SECONDS": "seconds", "DEGREES": "degrees"}


def with_synonym(error: click.NoSuchOption, parameters: Sequence[click.Parameter]) -> click.UsageError:
    """Return an error that suggests the option with the meaning of an unknown option, if there is one.

    Click suggests only options with a similar spelling.
    """
    names = [name[2:] for one in parameters for name in one.opts if name.startswith("--")]
    given = error.option_name.lstrip("-")
    found = synonym(given, names) or (None if error.possibilities else nearest_name(given, names))
    return error if found is None else click.UsageError(f"{error.message} Did you mean '--{found}'?", error.ctx)


def check_quotes(
    context: click.Context, words: Sequence[str], names: Collection[str], *, takes_arguments: bool
) -> None:
    """Check that a selection of several words is in quotation marks.

    Parameters
    ----------
    context : click.Context
        The context of the command.
    words : sequence of str
        The words that follow the name of the command.
    names : collection of str
        Options whose values are selections.
    takes_arguments : bool
        Whether the command takes words without an option, such as files.

    Raises
    ------
    click.UsageError
        If a selection consists of several words. The message shows the corrected command.
    """
    found: list[str] = []
    wrong = None
    number = 0
    while number < len(words) and words[number] != "--":
        word = words[number]
        name, _, value = word.partition("=")
        number += 1
        if name not in names:
            found.append(word)
            continue
        end = number
        while end < len(words) and not _is_option(words[end]):
            end += 1
        is_joined = word != name and name.startswith("--")
        parts = [*([value] if is_joined else []), *words[number:end]]
        if len(parts) > 1 and (not takes_arguments or _is_selection_of_words(parts)):
            wrong = wrong or name
            found += [name, " ".join(parts)]
        else:
            found += [word, *words[number:end]]
        number = end
    if wrong is not None:
        corrected = shlex.join([*_with_inputs(found, takes_arguments), *words[number:]])
        message = f"{wrong}: a selection of several words needs quotation marks: {context.command_path} {corrected}"
        raise click.UsageError(message, context)


def _is_option(word: str) -> bool:
    return word.startswith("-") and word != "-" and not _NEGATIVE_NUMBER.match(word)


def _is_selection_of_words(parts: Sequence[str]) -> bool:
    """Return whether words belong to one selection, in a command that also takes files."""
    return " " not in parts[0] and (parts[0].lower() in _UNFINISHED or not _MORE.isdisjoint(parts))


def _with_inputs(words: list[str], takes_arguments: bool) -> list[str]:
    """Return the words with ``-s`` and ``-f`` in front of two files without an option."""
    leading = next((number for number, word in enumerate(words) if _is_option(word)), len(words))
    if takes_arguments or leading != 2 or not _INPUTS.isdisjoint(words):
        return words
    return ["-s", words[0], "-f", words[1], *words[2:]]


def check_unit(value: Any, metavar: str | None, param: click.Parameter | None, ctx: click.Context | None) -> None:
    """Check that a number has no unit.

    Raises
    ------
    click.BadParameter
        If the value has a unit that can be converted to the unit of the option.
    """
    factors = _FACTORS.get(metavar or "", {})
    found = _WITH_UNIT.fullmatch(value.strip()) if isinstance(value, str) else None
    if metavar is not None and found is not None and found[2] in factors:
        unit = _NAMES.get(metavar, metavar)
        number = float(found[1]) * factors[found[2]]
        raise click.BadParameter(f"{value!r} has a unit: write the number of {unit}, {number:.10g}", ctx, param)
