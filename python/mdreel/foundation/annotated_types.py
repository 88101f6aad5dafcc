"""Expected types of arguments, derived from annotations."""

import math
import numbers
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, replace
from operator import index
from types import NoneType, UnionType
from typing import Any, Literal, Self, TypeVar, Union, get_args, get_origin

import numpy as np

_GROUPS = ("AtomGroup", "ResidueGroup", "SegmentGroup", "Universe")
_END_OF_WHOLE = 1 << 63


class RefusedError(Exception):
    """Raised if a value has an unexpected type. The attributes contain the affected part and the expected type."""

    def __init__(self, name: str, expected: str, value: object) -> None:
        super().__init__(name, expected, value)
        self.name, self.expected, self.value = name, expected, value


@dataclass(frozen=True)
class Expected:
    """An expected type.

    Attributes
    ----------
    text : str
        Description of the expected type, for messages.
    accept : callable
        Function that takes the name of an argument and its value, and returns the value to pass to the parameter. It
        raises `RefusedError` if the value has a different type.
    plural : str
        Plural form of the description, for messages about sequences.
    takes_texts : bool
        Whether every str is accepted as it is.
    """

    text: str
    accept: Callable[[str, Any], Any]
    plural: str = "values"
    takes_texts: bool = False


class Unimported:
    """Stand-in for a class that is used in an annotation, but is imported only by type checkers."""

    def __class_getitem__(cls, item: object) -> type[Self]:
        """Return the class itself, regardless of the parameters of the generic class."""
        return cls


def expected_of(hint: Any) -> Expected | None:
    """Return the expected type for a type hint, or None if any value can be valid.

    Parameters
    ----------
    hint : type hint
        A resolved annotation. Subclasses of `Unimported` stand for classes that are not imported.
    """
    origin = get_origin(hint)
    if isinstance(hint, TypeVar) or hint in (Any, object):
        kind = None
    elif origin in (Union, UnionType):
        kind = _one_of(hint)
    elif origin is Literal:
        kind = _choice(get_args(hint))
    elif origin is not None:
        kind = _generic(origin, get_args(hint))
    else:
        kind = _PLAIN.get(hint) or (_instance(hint) if isinstance(hint, type) else None)
    return kind


def _test(text: str, is_accepted: Callable[[Any], bool], plural: str) -> Expected:
    def accept(name: str, value: Any) -> Any:
        if not is_accepted(value):
            raise RefusedError(name, text, value)
        return value

    return Expected(text, accept, plural)


def _whole(name: str, value: Any) -> Any:
    text = "a whole number"
    if isinstance(value, bool | np.bool_):
        raise RefusedError(name, text, value)
    try:
        number = index(value)
    except TypeError:
        raise RefusedError(name, text, value) from None
    if not -_END_OF_WHOLE <= number < _END_OF_WHOLE:
        raise RefusedError(name, f"{text} of at most 64 bits", value)
    return number


def _real(name: str, value: Any) -> Any:
    text = "a number"
    is_real = isinstance(value, numbers.Real) or (isinstance(value, np.ndarray) and value.ndim == 0)
    if isinstance(value, bool | np.bool_) or not is_real:
        raise RefusedError(name, text, value)
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise RefusedError(name, text, value) from None
    if math.isnan(number):
        raise RefusedError(name, text, value)
    return value if isinstance(value, int) and abs(value) < _END_OF_WHOLE else number


def _truth(name: str, value: Any) -> bool:
    if not (isinstance(value, bool | np.bool_ | int) and value in (0, 1)):
        raise RefusedError(name, "True or False", value)
    return bool(value)


def _array(values: str, kinds: str) -> Expected:
    """Return the expected type for an array. `kinds` are the NumPy type codes that its values can have."""

    def is_array(value: Any) -> bool:
        if isinstance(value, str | bytes | Mapping | set | frozenset) or callable(value):
            return False
        try:
            return np.asarray(value).dtype.kind in kinds
        except (TypeError, ValueError, OverflowError):
            return False

    return _test(f"an array of {values}", is_array, f"arrays of {values}")


_PLAIN: dict[Any, Expected] = {
    bool: Expected("True or False", _truth, "True or False"),
    int: Expected("a whole number", _whole, "whole numbers"),
    float: Expected("a number", _real, "numbers"),
    str: replace(_test("a text", lambda value: isinstance(value, str), "texts"), takes_texts=True),
    NoneType: _test("None", lambda value: value is None, "None"),
}
_PATH = _test("a path", lambda value: isinstance(value, os.PathLike), "paths")
_ARRAY = _array("numbers", "biuf")
_ARRAYS = {
    np.integer: _array("whole numbers", "iu"),
    np.bool_: _array("True and False", "b"),
}


def _is_named(value: object, *names: str) -> bool:
    """Return whether a value is an instance of a class with one of these names.

    The names are compared because importing MDAnalysis or matplotlib takes longer than most analyses.
    """
    return any(kind.__name__ in names for kind in type(value).__mro__)


def has_atoms(value: object) -> bool:
    """Return whether a value is an MDAnalysis Universe, or a group of atoms, residues or segments."""
    return _is_named(value, *_GROUPS)


ATOMS = _test("an AtomGroup or a Universe of MDAnalysis", has_atoms, "AtomGroups or Universes of MDAnalysis")
"""Expected type for atoms."""

_UNIMPORTED = {
    **dict.fromkeys(_GROUPS, ATOMS),
    "Axes": _test("Axes of matplotlib", lambda value: _is_named(value, "Axes"), "Axes of matplotlib"),
}


def _choice(choices: tuple[Any, ...]) -> Expected | None:
    """Return the expected type for one of several choices. The function itself checks the value of a str."""
    text = " or ".join(repr(choice) for choice in choices)
    if all(isinstance(choice, str) for choice in choices):
        return _test(text, lambda value: isinstance(value, str), text)
    return _test(text, lambda value: any(value is choice for choice in choices), text)


def _instance(kind: type) -> Expected | None:
    if issubclass(kind, Unimported):
        return _UNIMPORTED.get(kind.__name__)
    if getattr(kind, "_is_protocol", False) and not getattr(kind, "_is_runtime_protocol", False):
        return None
    return _test(with_article(kind.__name__), lambda value: isinstance(value, kind), f"{kind.__name__} objects")


def with_article(word: str) -> str:
    """Return a name with its indefinite article. Abbreviations such as RMSD are read letter by letter."""
    is_spelled = word[:2].isupper()
    return f"{'an' if word[:1].lower() in ('aefhilmnorsx' if is_spelled else 'aeio') else 'a'} {word}"


def _generic(origin: Any, arguments: tuple[Any, ...]) -> Expected | None:
    if not isinstance(origin, type) or origin is type:
        return None
    if origin is np.ndarray:
        kind = next((_ARRAYS[one] for one in get_args(arguments[-1]) if one in _ARRAYS), _ARRAY)
    elif origin is os.PathLike:
        kind = _PATH
    elif issubclass(origin, Callable):  # type: ignore[arg-type]
        kind = _test("a function", callable, "functions")
    elif issubclass(origin, Mapping):
        kind = _mapping(*map(expected_of, arguments))
    elif issubclass(origin, tuple) and Ellipsis not in arguments:
        kind = _fixed([expected_of(one) for one in arguments])
    elif issubclass(origin, Iterable):
        kind = _sequence(expected_of(arguments[0]), takes_text=arguments[0] is str)
    else:
        kind = None
    return kind


def _mapping(keys: Expected | None, values: Expected | None) -> Expected:
    def accept(name: str, value: Any) -> Any:
        if not isinstance(value, Mapping):
            raise RefusedError(name, "a dictionary", value)
        for key, item in value.items():
            if keys is not None:
                keys.accept(f"a key of {name}", key)
            if values is not None:
                values.accept(f"{name}[{key!r}]", item)
        return value

    return Expected("a dictionary", accept, "dictionaries")


def _items(name: str, value: Any, text: str) -> Any:
    """Return a value whose items have an order. The items of a generator are returned as a list."""
    is_sequence = isinstance(value, Iterable) or (hasattr(value, "__getitem__") and isinstance(value, Sized))
    # A group of atoms is one item, not a sequence of atoms.
    is_one = isinstance(value, str | bytes | Mapping | set | frozenset | type) or has_atoms(value)
    if not is_sequence or is_one or (isinstance(value, np.ndarray) and value.ndim == 0):
        raise RefusedError(name, text, value)
    if isinstance(value, np.ndarray):
        return value if value.dtype.kind in "iu" else list(value)
    return value if isinstance(value, Sized) else list(value)


def _each(name: str, items: Any, kinds: Iterator[Expected | None]) -> Any:
    """Return the items after checking and converting each of them, or the same object if no item changes."""
    if isinstance(items, np.ndarray) and items.dtype.kind in "iu":
        return items
    accepted = [
        item if kind is None else kind.accept(f"{name}[{i}]", item)
        for i, (item, kind) in enumerate(zip(items, kinds, strict=False))
    ]
    is_same = all(one is other for one, other in zip(accepted, items, strict=True))
    return items if is_same else accepted


def _fixed(kinds: Sequence[Expected | None]) -> Expected:
    plurals = {"values" if kind is None else kind.plural for kind in kinds}
    text = f"a sequence of {len(kinds)} {plurals.pop() if len(plurals) == 1 else 'values'}"
    if plurals:
        text += f" ({', '.join('anything' if kind is None else kind.text for kind in kinds)})"

    def accept(name: str, value: Any) -> Any:
        items = _items(name, value, text)
        if len(items) != len(kinds):
            raise RefusedError(name, text, value)
        return _each(name, items, iter(kinds))

    return Expected(text, accept, text.replace("a sequence", "sequences", 1))


def _sequence(kind: Expected | None, *, takes_text: bool) -> Expected:
    """Return the expected type for a sequence. A str counts as a sequence of one str, never of letters."""
    plural = "sequences" if kind is None else f"sequences of {kind.plural}"
    text = plural.replace("sequences", "a sequence", 1)

    def accept(name: str, value: Any) -> Any:
        if takes_text and isinstance(value, str):
            return (value,)
        items = _items(name, value, text)
        if kind is None or (kind.takes_texts and {str}.issuperset(map(type, items))):
            return items
        return _each(name, items, _endless(kind))

    return Expected(text, accept, plural)


def _endless(kind: Expected) -> Iterator[Expected]:
    while True:
        yield kind


def _one_of(hint: Any) -> Expected | None:
    members = list(get_args(hint))
    if any("_SupportsArray" in str(get_origin(member)) for member in members):  # NumPy ArrayLike
        members = [member for member in members if not _is_of_array_like(member)] + [np.ndarray[Any, Any]]
    kinds = [expected_of(member) for member in members]
    if None in kinds:
        return None
    # None and texts, which are valid as they are, go first.
    first = (_PLAIN[NoneType], _PLAIN[str])
    known = sorted(dict.fromkeys(kind for kind in kinds if kind is not None), key=lambda kind: kind not in first)
    named = [kind for kind in known if kind is not _PLAIN[NoneType]]
    if _PLAIN[NoneType] in known and named != [ATOMS]:
        named.append(_PLAIN[NoneType])
    text, plural = (_either(texts) for texts in ([one.text for one in named], [one.plural for one in named]))

    def accept(name: str, value: Any) -> Any:
        inner: list[RefusedError] = []
        converted = []
        for kind in known:
            try:
                accepted = kind.accept(name, value)
            except RefusedError as error:
                inner.append(error.with_traceback(None))  # its frames would keep their arguments, and those this list
                continue
            if accepted is value:
                return value
            converted.append(accepted)
        if converted:
            return converted[0]
        # An item of the value is to blame if only one member of the union has refused an item.
        of_items = [error for error in inner if error.name != name]
        if len(of_items) == 1:
            raise of_items[0]
        raise RefusedError(name, text, value)

    return Expected(text, accept, plural, _PLAIN[str] in named)


def _either(texts: Iterable[str]) -> str:
    *others, last = dict.fromkeys(texts)
    return f"{', '.join(others)} or {last}" if others else last


def _is_of_array_like(member: Any) -> bool:
    return member in (bool, int, float, complex, str, bytes) or getattr(
        get_origin(member) or member, "__module__", ""
    ).startswith("numpy._typing")
