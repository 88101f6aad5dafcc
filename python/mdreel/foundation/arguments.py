"""Validation of function arguments against the annotations of public functions."""

import builtins
import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cache, wraps
from types import SimpleNamespace
from typing import Any, ParamSpec, TypeVar, get_type_hints

from mdreel.errors import ArgumentError, SelectionError
from mdreel.foundation.annotated_types import ATOMS, Expected, RefusedError, Unimported, expected_of, with_article
from mdreel.foundation.argument_remedies import remedy
from mdreel.foundation.nearest_name import group_name, is_selection, nearest_name, similar_name, synonym

P = ParamSpec("P")
R = TypeVar("R")

_SHOWN = 60


def checked_arguments(function: Callable[P, R]) -> Callable[P, R]:
    """Check the types of the arguments whenever a function is called.

    The expected types are defined by the annotations. If a parameter expects a sequence of str, a single str is
    converted to a sequence with one item.

    Parameters
    ----------
    function : callable
        A public function or method.

    Returns
    -------
    callable
        The decorated function. It raises `ArgumentError` if an argument has the wrong type or if there is no parameter
        with its name, and `SelectionError` if an argument should be atoms but is not.
    """
    return _checking(function, ())


def checked_arguments_but(*names: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Check arguments like `checked_arguments`, except for those that the function checks itself."""
    return lambda function: _checking(function, names)


def _checking(function: Callable[P, R], left_out: tuple[str, ...]) -> Callable[P, R]:
    @cache
    def expected() -> tuple[Callable[..., inspect.BoundArguments], dict[str, Expected]]:
        kinds = _expected_arguments(function)
        return inspect.signature(function).bind, {name: kind for name, kind in kinds.items() if name not in left_out}

    @wraps(function)
    def checking(*args: P.args, **kwargs: P.kwargs) -> R:
        arguments_of, kinds = expected()
        try:
            bound = arguments_of(*args, **kwargs)
        except TypeError as error:
            raise ArgumentError(_misnamed(function, str(error), args, kwargs)) from None
        for name, value in bound.arguments.items():
            if name in kinds:
                try:
                    bound.arguments[name] = kinds[name].accept(name, value)
                except RefusedError as error:
                    is_of_atoms = error.expected == ATOMS.text
                    message = f"{error.name} must be {error.expected}, not {shown(error.value)}"
                    message += remedy(error, name, bound, kinds)
                    raise (SelectionError if is_of_atoms else ArgumentError)(message) from None
        return function(*bound.args, **bound.kwargs)

    checking.__signature__ = _readable(inspect.signature(function))  # type: ignore[attr-defined]
    return checking


class _Annotation(str):
    """An annotation that `help` displays without quotes, as it is written in the source."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _readable(signature: inspect.Signature) -> inspect.Signature:
    def of(annotation: Any) -> Any:
        return _Annotation(annotation) if isinstance(annotation, str) else annotation

    parameters = [one.replace(annotation=of(one.annotation)) for one in signature.parameters.values()]
    return signature.replace(parameters=parameters, return_annotation=of(signature.return_annotation))


def shown(value: object) -> str:
    """Return a short representation of a value for a message, with its type unless the type is obvious."""
    kind = type(value).__name__
    if value is None or isinstance(value, bool | type):
        return f"{value!r}"
    try:
        text = " ".join(repr(value).split())
    except Exception:  # noqa: BLE001 (objects of users may raise anything; a message is better without them)
        text = ""
    if not text or len(text) > _SHOWN or text.startswith("<"):
        shape = getattr(value, "shape", None)
        return with_article(kind) + (f" of shape {shape}" if isinstance(shape, tuple) else "")
    return f"{text} ({kind})"


def _misnamed(function: Callable[..., Any], message: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """Return the message about arguments that do not match the parameters, with the name that was probably meant."""
    called = function.__qualname__.removesuffix(".__init__")
    parameters = inspect.signature(function).parameters
    names = [name for name in parameters if name != "self"]
    takes_any = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters.values())
    unknown = None if takes_any else next((name for name in kwargs if name not in parameters), None)
    if unknown is None:
        return f"{called}(): {message}; its parameters are {', '.join(names)}"
    return unknown_parameter(called, unknown, names, *_other_call(function, args))


def _other_call(function: Callable[..., Any], args: Sequence[Any]) -> tuple[str, Sequence[str]]:
    """Return the call that also has parameters: `run` for the constructor of an analysis, and the reverse."""
    if args and "." in function.__qualname__:
        kind = type(args[0])
        if function.__name__ == "__init__" and callable(getattr(kind, "run", None)):
            return "run()", _parameters(kind.run)
        if function.__name__ == "run":
            return f"{kind.__name__}()", _parameters(kind.__init__)
    return "", ()


def _parameters(function: Callable[..., Any]) -> list[str]:
    return [name for name in inspect.signature(function).parameters if name != "self"]


def unknown_parameter(
    called: str, given: str, names: Sequence[str], other: str = "", names_of_other: Sequence[str] = ()
) -> str:
    """Return the message about an unknown parameter, with the name that was probably meant.

    Parameters
    ----------
    called : str
        Name of the function.
    given : str
        The unknown name.
    names : sequence of str
        Names of the parameters.
    other : str
        Another call that receives settings, such as ``run()``.
    names_of_other : sequence of str
        Names of the parameters of the other call.
    """
    return f"{called}() has no parameter {given!r}: {_hint(given, names, other, names_of_other)}"


def _hint(given: str, names: Sequence[str], other: str, names_of_other: Sequence[str]) -> str:
    group = group_name(names)
    if is_selection(given) and group is not None and not any(map(is_selection, names)):
        return f"select the atoms with universe.select_atoms(...) and give the group as {group!r}"
    close, elsewhere = synonym(given, names), synonym(given, names_of_other)
    if close is None and elsewhere is None:
        close = nearest_name(given, names)
        elsewhere = None if close else similar_name(given, names_of_other)
    if close is not None:
        return f"did you mean {close!r}?"
    if elsewhere is not None:
        return f"give {'it' if elsewhere == given else repr(elsewhere)} to {other}"
    return f"its parameters are {', '.join(names)}"


def _expected_arguments(function: Callable[..., Any]) -> dict[str, Expected]:
    """Return the expected type of each parameter that does not accept every value."""
    names = _Names(function.__globals__)
    found = {}
    for name, hint in get_type_hints(function, localns=names).items():
        kind = expected_of(hint)
        if kind is not None and name != "return":
            found[name] = kind
    return found


class _Names(Mapping[str, Any]):
    """The names used in annotations. Names that are imported only by type checkers are replaced by stand-ins."""

    def __init__(self, module: Mapping[str, Any]) -> None:
        self._module = module

    def __getitem__(self, name: str) -> Any:
        value = self._module.get(name, getattr(builtins, name, None))
        if value is None:
            return type(name, (Unimported,), {})
        if isinstance(value, str):  # an alias, quoted because it names such classes
            return get_type_hints(SimpleNamespace(__annotations__={"alias": value}), {}, self)["alias"]
        return value

    def __iter__(self) -> Any:
        return iter(self._module)

    def __len__(self) -> int:
        return len(self._module)
