"""Serialization of user objects, and detection of attributes that workers changed."""

import io
import pickle
import types
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from functools import cache
from typing import Any
from zlib import crc32

import numpy as np

from mdreel.analysis.user.user_functions import pickle_by_value
from mdreel.errors import FunctionError
from mdreel.trajectory.selection_tree import is_updating

_PLAIN = (int, float, complex, str, bytes, bool, type(None), np.generic)
_UNCHANGING = (types.FunctionType, types.BuiltinFunctionType, types.MethodType, types.ModuleType, type)


class Fingerprints:
    """Fingerprints of an object's attributes that reveal later changes.

    Parameters
    ----------
    state : mapping of str to object
        The attributes.
    """

    def __init__(self, state: Mapping[str, Any]) -> None:
        self._seen = {name: _fingerprint(value) for name, value in state.items()}
        self._state = state

    def compared(self, state: Mapping[str, Any]) -> tuple[frozenset[str], bool]:
        """Compare the fingerprints with the attributes of a shallow copy of the object.

        Parameters
        ----------
        state : mapping of str to object
            The attributes of the copy.

        Returns
        -------
        names : frozenset of str
            Attributes of the copy that are new or have changed.
        is_stale : bool
            Whether the copy has changed a value that it shares with the object itself in place.
        """
        names, is_stale = set(), False
        for name, value in state.items():
            is_other = name not in self._seen or _fingerprint(value) != self._seen[name]
            if is_other:
                names.add(name)
            if name in self._state:
                own = self._state[name]
                is_stale |= is_other if own is value else _fingerprint(own) != self._seen[name]
        return frozenset(names), is_stale


def _fingerprint(value: Any) -> Any:
    """Return a fingerprint that is equal for equal values. For opaque objects, it is their identity."""
    if isinstance(value, _PLAIN):
        return type(value), repr(value)
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        return value.dtype.str, value.shape, crc32(np.ascontiguousarray(value).view(np.uint8).data)
    if isinstance(value, _UNCHANGING):
        return id(value)
    try:
        return crc32(pickle_by_value(value, "a value", _without_universes()))
    except Exception:  # noqa: BLE001 (an open file, a lock)
        return id(value)


@cache
def _without_universes() -> type:
    import cloudpickle
    from MDAnalysis import Universe

    class Pickler(cloudpickle.Pickler):  # type: ignore[misc]
        def persistent_id(self, one: object) -> int | None:
            return id(one) if isinstance(one, Universe) else None

    return Pickler


def sent(value: Any, name: str, universe: Any) -> bytes:
    """Pickle a value, with placeholders for a Universe, its trajectory and its timestep."""
    import cloudpickle

    trajectory = getattr(universe, "trajectory", None)
    placeholders = {id(universe): "the Universe", id(trajectory): "the trajectory"}
    placeholders[id(getattr(trajectory, "ts", None))] = "the timestep"
    placeholders.pop(id(None), None)

    class Pickler(cloudpickle.Pickler):  # type: ignore[misc]
        def persistent_id(self, one: object) -> str | None:
            return placeholders.get(id(one))

        def reducer_override(self, one: Any) -> Any:
            if is_updating(one):
                parts = one._base_group, one._selections, one._selection_strings  # noqa: SLF001 (no public names)
                return _updating_group, parts
            return super().reducer_override(one)

    return pickle_by_value(value, name, Pickler)


def received(content: bytes, universe: Any) -> Any:
    """Return a value that was pickled with `sent`, with another Universe in place of the original."""

    class Unpickler(pickle.Unpickler):
        def persistent_load(self, name: object) -> Any:
            match name:
                case "the Universe":
                    return universe
                case "the trajectory":
                    return universe.trajectory
            return universe.trajectory.ts

    return Unpickler(io.BytesIO(content)).load()


def _updating_group(base: Any, selections: Any, strings: Any) -> Any:
    """Return an updating group whose atoms are not selected before they are first used."""
    from MDAnalysis.core.groups import UpdatingAtomGroup

    # MDAnalysis selects at once if it is given selections, or an updating group to select from.
    group = UpdatingAtomGroup(base.universe.atoms, (), strings)
    group._base_group, group._selections = base, selections  # noqa: SLF001 (no public names)
    return group


class _LostAttribute:
    """An attribute that workers changed. Reading it raises an error until it is set again."""

    def __init__(self, name: str) -> None:
        self._name, self._is_set = name, False

    def __get__(self, owner: Any, _: type | None = None) -> Any:
        if self._is_set:
            return vars(owner)[self._name]
        raise FunctionError(
            f"{type(owner).__name__}: self.{self._name} was set in _prepare or _single_frame, on a worker's copy of "
            "the analysis, and only self.results comes back from workers. Keep the value there, as "
            f"self.results.{self._name}, or set self.{self._name} in __init__ or in _conclude"
        )

    def __set__(self, owner: Any, value: Any) -> None:
        vars(owner)[self._name], self._is_set = value, True


class _Guard:
    """First base of the classes that guard lost attributes. It hides their creation from the user's class."""

    def __init_subclass__(cls, **_: Any) -> None:
        """Suppress the `__init_subclass__` hook of the user's class."""


@contextmanager
def guard_attributes(owner: Any, names: AbstractSet[str]) -> Iterator[None]:
    """Make an object raise an error if an attribute is read before it is set again.

    Parameters
    ----------
    owner : object
        The object.
    names : set of str
        Names of attributes. Properties and other descriptors of the class are not affected.

    Raises
    ------
    FunctionError
        If one of the attributes is read.
    """
    kind = type(owner)
    lost = {name: _LostAttribute(name) for name in names if not hasattr(getattr(kind, name, None), "__get__")}
    body = {**lost, "__module__": kind.__module__, "__qualname__": kind.__qualname__, "__doc__": kind.__doc__}
    try:
        made: Any = type(kind)  # a metaclass, which may be a user's
        owner.__class__ = made(kind.__name__, (_Guard, kind), body)
    except TypeError:  # a class with slots or a restrictive metaclass cannot be guarded
        yield
        return
    try:
        yield
    finally:
        owner.__class__ = kind


class FrameAttribute:
    """An attribute of an analysis that exists only while a frame is processed."""

    def __set_name__(self, _: type, name: str) -> None:
        self._name = name

    def __get__(self, owner: Any, kind: type | None = None) -> Any:
        if owner is None:
            return self
        raise AttributeError(
            f"{type(owner).__name__}: self.{self._name} exists in _single_frame only, not in _prepare or _conclude",
            name=self._name,
            obj=owner,
        )
