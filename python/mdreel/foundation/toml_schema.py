"""Validation of TOML tables against dataclasses, and their JSON schema."""

from collections.abc import Mapping
from dataclasses import MISSING, Field, field, fields, is_dataclass
from types import UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from mdreel.errors import MismatchError
from mdreel.foundation.nearest_name import unknown_name

T = TypeVar("T")

_SPOKEN = {bool: "true or false", int: "a whole number", float: "a number", str: "a text"}
_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string"}


def entry(about: str, default: Any = MISSING, *, choices: tuple[str, ...] = (), least: float | None = None) -> Any:
    """Return a dataclass field for a key in a table.

    Parameters
    ----------
    about : str
        Description.
    default : object, optional
        Default value. If it is missing, the key is required.
    choices : tuple of str
        Allowed values.
    least : float, optional
        Smallest allowed value.
    """
    return field(default=default, metadata={"about": about, "choices": choices, "least": least})


def checked(kind: type[T], where: str, table: object) -> T:
    """Convert a table to a dataclass.

    Parameters
    ----------
    kind : type
        Dataclass whose fields are created with `entry`. The type of a field can be a str, a number, a bool, another
        such dataclass, a tuple of these, or None.
    where : str
        Text at the beginning of error messages.
    table : object
        The TOML table.

    Returns
    -------
    object
        The dataclass. A single value is accepted where a list is expected.

    Raises
    ------
    MismatchError
        If a key is unknown or missing, or if a value has the wrong type or is not allowed.
    """
    if not isinstance(table, dict):
        raise MismatchError(f"{where}: expected a table, got {table!r}")
    known = _entries(kind)
    for name in table:
        if name not in known:
            raise MismatchError(f"{where}: {unknown_name(name, known)}")
    hints, values = get_type_hints(kind), {}
    for name, one in known.items():
        if name in table:
            values[one.name] = _value(f"{where}: {name}", table[name], hints[one.name], one.metadata)
        elif one.default is MISSING:
            raise MismatchError(f"{where}: {name} is missing")
    return kind(**values)


def checked_file(kind: type[T], where: str, content: Mapping[str, Any]) -> T:
    """Convert the content of a file to a dataclass; see `checked`. Error messages start with the file name."""
    try:
        return checked(kind, where, dict(content))
    except MismatchError as error:
        if str(error).startswith(where):
            raise
        raise MismatchError(f"{where}: {error}") from None


def schema_of(kind: type) -> dict[str, Any]:
    """Return the JSON schema of the tables that `checked` accepts."""
    known, hints = _entries(kind), get_type_hints(kind)
    properties = {name: _schema(hints[one.name], one.metadata) for name, one in known.items()}
    required = [name for name, one in known.items() if one.default is MISSING]
    found = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**found, "required": required} if required else found


def _entries(kind: Any) -> dict[str, "Field[Any]"]:
    """Return the fields of a dataclass by their keys in a table."""
    return {one.name.replace("_", "-"): one for one in fields(kind)}


def _value(where: str, value: Any, hint: Any, about: Mapping[str, Any]) -> Any:
    kind = _without_none(hint)
    if isinstance(kind, type) and is_dataclass(kind):
        return checked(kind, where, value)
    if get_origin(kind) is tuple:
        return _values(where, value, get_args(kind), about)
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if type(value) is not kind:
        raise MismatchError(f"{where}: expected {_SPOKEN[kind]}, got {value!r}")
    if about["choices"] and value not in about["choices"]:
        raise MismatchError(f"{where}: expected one of {', '.join(about['choices'])}, got {value!r}")
    if about["least"] is not None and value < about["least"]:
        raise MismatchError(f"{where}: must be {about['least']} or more, not {value}")
    return value


def _values(where: str, value: Any, kinds: tuple[Any, ...], about: Mapping[str, Any]) -> tuple[Any, ...]:
    """Check a list that contains any number of values of the same type, or one value of each type."""
    if kinds[-1] is not Ellipsis:
        if not isinstance(value, list) or len(value) != len(kinds):
            raise MismatchError(f"{where}: expected {len(kinds)} values, got {value!r}")
        return tuple(_value(where, one, kind, about) for one, kind in zip(value, kinds, strict=True))
    several = value if isinstance(value, list) else [value]
    if not several:
        raise MismatchError(f"{where}: expected at least one value")
    if not is_dataclass(kinds[0]):
        return tuple(_value(where, one, kinds[0], about) for one in several)
    return tuple(_value(f"{where} {i}", one, kinds[0], about) for i, one in enumerate(several, 1))


def _without_none(hint: Any) -> Any:
    if get_origin(hint) is UnionType:
        return next(one for one in get_args(hint) if one is not type(None))
    return hint


def _schema(hint: Any, about: Mapping[str, Any]) -> dict[str, Any]:
    found = _type(_without_none(hint), about)
    return {**found, "description": about["about"]}


def _type(kind: Any, about: Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(kind, type) and is_dataclass(kind):
        return schema_of(kind)
    if get_origin(kind) is tuple:
        kinds = get_args(kind)
        if kinds[-1] is not Ellipsis:
            items = [_type(one, about) for one in kinds]
            return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}
        one = _type(kinds[0], about)
        return {"anyOf": [one, {"type": "array", "items": one, "minItems": 1}]}
    if about["choices"]:
        return {"enum": list(about["choices"])}
    found: dict[str, Any] = {"type": _TYPES[kind]}
    return found if about["least"] is None else {**found, "minimum": about["least"]}
