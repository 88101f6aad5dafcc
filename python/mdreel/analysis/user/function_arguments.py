"""Arguments of user functions: positions of groups, frame data and constants."""

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from mdreel.analysis.user.user_functions import Batch, Frame
from mdreel.errors import ArgumentError, MismatchError
from mdreel.foundation.nearest_name import nearest_name

FRAME_NAMES = ("dimensions", "time", "frame")
"""Names of the parameters for which a function receives frame data."""

Given: TypeAlias = NDArray[np.float32] | Batch
"""Frames in the form in which a user function receives them: positions or a batch."""

_Parameter = inspect.Parameter


@dataclass(frozen=True)
class GroupPositions:
    """The positions of one group.

    Attributes
    ----------
    number : int
        Number of the group.
    start, stop : int
        Range of the group's positions among the positions of all groups.
    """

    number: int
    start: int
    stop: int

    def of(self, given: Frame | Batch) -> NDArray[np.float32]:
        """Return the positions in one frame, shape (n_atoms, 3), or in several frames, shape (n_frames, n_atoms, 3)."""
        positions = given.positions[..., self.start : self.stop, :]
        members: Any = given.members[self.number] if given.members else None
        return positions if members is None else positions[members]


@dataclass(frozen=True)
class FrameData:
    """The cell, the time or the number of a frame.

    Attributes
    ----------
    name : str
        One of `FRAME_NAMES`.
    """

    name: str

    def of(self, given: Frame | Batch) -> Any:
        """Return the value for a frame, or the array for several frames."""
        return getattr(given, self.name)


@dataclass(frozen=True)
class Constant:
    """An argument that is the same for every frame.

    Attributes
    ----------
    value : object
        The argument.
    """

    value: Any

    def of(self, _: Frame | Batch) -> Any:
        """Return the argument."""
        return self.value


Argument: TypeAlias = GroupPositions | FrameData | Constant


@dataclass(frozen=True)
class FrameFunction:
    """A user function that is called with several arguments for a frame or a block of frames.

    Attributes
    ----------
    function : callable
        The user function.
    positional : sequence of GroupPositions, FrameData or Constant
        Positional arguments of the function.
    by_name : mapping of str to GroupPositions, FrameData or Constant
        Keyword arguments of the function.
    """

    function: Callable[..., Any]
    positional: Sequence[Argument]
    by_name: Mapping[str, Argument]

    def __call__(self, given: Frame | Batch) -> Any:
        """Call the function for a frame or a block of frames."""
        named = {name: one.of(given) for name, one in self.by_name.items()}
        return self.function(*[one.of(given) for one in self.positional], **named)

    @property
    def __name__(self) -> str:
        """Name of the user function for error messages."""
        return str(getattr(self.function, "__name__", type(self.function).__name__))


def given_to(function: Callable[..., Any], batch: Batch) -> Given:
    """Return the data from a batch that a function receives: all data or only positions."""
    return batch if isinstance(function, FrameFunction) else batch.positions


def takes_frame_number(function: Callable[..., Any]) -> bool:
    """Return whether a function receives the number of the frame."""
    if not isinstance(function, FrameFunction):
        return False
    arguments = (*function.positional, *function.by_name.values())
    return any(isinstance(one, FrameData) and one.name == "frame" for one in arguments)


def with_frame_data(
    function: Callable[..., Any],
    positional: Sequence[Argument],
    by_name: Mapping[str, Argument],
    options: Sequence[str],
) -> FrameFunction:
    """Return a function with its arguments and the frame data that its parameters request.

    Parameters
    ----------
    function : callable
        The user function.
    positional, by_name : sequence and mapping of GroupPositions or Constant
        The arguments given by the user.
    options : sequence of str
        Names of mdreel's options, for error messages about misspelt names.

    Raises
    ------
    MismatchError
        If a parameter without a default does not receive an argument, or if there are too many arguments. If a
        parameter is named like frame data but has a default other than None. If the function does not have a parameter
        of a given name, `ArgumentError` is raised.
    """
    signature, is_certain = _signature_of(function)
    if signature is None:
        return FrameFunction(function, tuple(positional), dict(by_name))
    fixed = by_name.keys() | _partial_names(function)
    name = f"{getattr(function, '__name__', type(function).__name__)}()"
    wanted = [*_unfilled(signature, len(positional), fixed)]
    for parameter in wanted:
        is_open = parameter.default is _Parameter.empty or parameter.default is None
        if parameter.name in FRAME_NAMES and not is_open:
            raise MismatchError(
                f"the parameter {parameter.name!r} of {name} has the default {parameter.default!r}, and mdreel would "
                f"give it the {parameter.name} of the frame: remove the default, or pass {parameter.name}=... here"
            )
    if is_certain:
        _check(signature, name, len(positional), by_name, wanted, options)
    # A parameter that takes no name gets its argument by position, so those before it get theirs by position, too.
    n_by_place = max((i for i, one in enumerate(wanted, 1) if one.kind is _Parameter.POSITIONAL_ONLY), default=0)
    more = [_of_frame(one) for one in wanted[:n_by_place]]
    named = {one.name: _of_frame(one) for one in wanted[n_by_place:] if one.name in FRAME_NAMES}
    return FrameFunction(function, (*positional, *more), {**by_name, **named})


def _of_frame(parameter: inspect.Parameter) -> Argument:
    """Return the argument for a parameter, which is frame data or the default."""
    return FrameData(parameter.name) if parameter.name in FRAME_NAMES else Constant(parameter.default)


def _signature_of(function: Callable[..., Any]) -> tuple[inspect.Signature | None, bool]:
    """Return the signature of a function, and whether a call that does not match the signature fails.

    A decorator may pass additional arguments to the function that it wraps. The signature is then uncertain.
    """
    try:
        inner = inspect.signature(function)
    except (ValueError, TypeError):  # a function of C
        return None, False
    try:
        outer = inspect.signature(function, follow_wrapped=False)
    except (ValueError, TypeError):
        return inner, False
    variable = (_Parameter.VAR_POSITIONAL, _Parameter.VAR_KEYWORD)
    if inner == outer or not any(one.kind in variable for one in outer.parameters.values()):
        return outer, True
    return inner, False


def _partial_names(function: Callable[..., Any]) -> AbstractSet[str]:
    """Return the names of the arguments that were fixed with `functools.partial`."""
    return function.keywords.keys() if isinstance(function, functools.partial) else frozenset()


def _unfilled(signature: inspect.Signature, n_given: int, fixed: AbstractSet[str]) -> Iterator[inspect.Parameter]:
    """Return the parameters for which the user did not pass an argument."""
    for parameter in signature.parameters.values():
        if parameter.kind is _Parameter.VAR_POSITIONAL:
            n_given = 0
        elif parameter.kind in (_Parameter.POSITIONAL_ONLY, _Parameter.POSITIONAL_OR_KEYWORD) and n_given:
            n_given -= 1
        elif parameter.kind is not _Parameter.VAR_KEYWORD and parameter.name not in fixed:
            yield parameter


def _check(
    signature: inspect.Signature,
    name: str,
    n_given: int,
    by_name: Mapping[str, Argument],
    wanted: Sequence[inspect.Parameter],
    options: Sequence[str],
) -> None:
    """Check that a function accepts its arguments. See `with_frame_data`."""
    parameters = signature.parameters.values()
    by_place = [one for one in parameters if one.kind in (_Parameter.POSITIONAL_ONLY, _Parameter.POSITIONAL_OR_KEYWORD)]
    if n_given > len(by_place) and not any(one.kind is _Parameter.VAR_POSITIONAL for one in parameters):
        raise MismatchError(
            f"{name} takes {len(by_place)} positional arguments, but {n_given} groups and constants are given"
        )
    accepted = {one.name for one in parameters if one.kind is not _Parameter.POSITIONAL_ONLY}
    for given in by_name:
        if given in {one.name for one in by_place[:n_given]} & accepted:
            raise ArgumentError(f"the parameter {given!r} of {name} is given twice: by position and by name")
        if given not in accepted and not any(one.kind is _Parameter.VAR_KEYWORD for one in parameters):
            close = nearest_name(given, [*accepted, *options])
            others = f"from_function() has {', '.join(options)}, and run() has start, stop and step"
            hint = f"did you mean {close!r}?" if close else others
            raise ArgumentError(f"{name} has no parameter {given!r}: {hint}")
    missing = [one.name for one in wanted if one.default is _Parameter.empty and one.name not in FRAME_NAMES]
    if missing:
        raise MismatchError(
            f"{name} has the parameter {missing[0]!r}, for which there is no value: mdreel gives a function the "
            f"positions of each group, then {', '.join(map(repr, FRAME_NAMES))} if it has parameters of these names. "
            f"Pass other values here: from_function(f, atomgroup, {missing[0]}=...)"
        )
