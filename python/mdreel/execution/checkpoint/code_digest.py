"""Digests of objects, including the code that they run."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import types
from collections.abc import Iterable
from typing import Any

import numpy as np

from mdreel.execution.checkpoint.function_code import bytecode, global_names, imported_modules, names_in
from mdreel.execution.checkpoint.mdanalysis_state import parts_of_mdanalysis
from mdreel.execution.checkpoint.module_versions import OWN_CODE, PYTHON, file_of_compiled, origin_of

_NOT_OF_A_CLASS = frozenset(
    {
        "__dict__",
        "__weakref__",
        "__doc__",
        "__module__",
        "__qualname__",
        "__annotations__",
        "__annotate__",
        "__annotate_func__",
        "__annotations_cache__",
        "__firstlineno__",
        "__static_attributes__",
        "__dataclass_fields__",
        "_abc_impl",
        "__abstractmethods__",
        "__slotnames__",
        "__parameters__",
        "__orig_bases__",
        "__match_args__",
        "__type_params__",
    }
)
"""Class attributes that do not affect results, or that follow from the base classes and other attributes."""

_PLAIN = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis), type(NotImplemented), range)
_IN_C = (
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.ClassMethodDescriptorType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
    types.MethodWrapperType,
    np.ufunc,
)


class CodeDigest:
    """Digests of objects, including the user's code that they run.

    Attributes
    ----------
    parts : dict of str to str
        Digests of all functions, classes and values that the objects refer to, by their descriptions.
    distributions : set of str
        Installed distributions that the code refers to. Their code is identified by their versions.

    Notes
    -----
    A digest depends on values, but never on addresses, file names, line numbers or the order of sets. It does not
    include names that exist only at run time (``getattr``, ``eval``), other processes, or files.
    """

    def __init__(self) -> None:
        self.parts: dict[str, str] = {}
        self.distributions: set[str] = set()
        self._known: dict[int, tuple[Any, bytes]] = {}  # with the objects, so that none reuses an address
        self._under_way: dict[int, int] = {}
        self._names: dict[int, tuple[Any, str]] = {}

    def of(self, what: Any) -> str:
        """Return the digest of an object."""
        return self._of(what).hex()[:16]

    def _of(self, what: Any) -> bytes:
        if type(what) in _PLAIN:
            return _hashed(type(what).__name__.encode(), repr(what).encode())
        if isinstance(what, types.FunctionType):
            return self._function(what)
        if isinstance(what, type):
            return self._class(what)
        if id(what) in self._known:
            return self._known[id(what)][1]
        if id(what) in self._under_way:  # a reference to itself, by the number of levels
            return _hashed(b"cycle", str(len(self._under_way) - self._under_way[id(what)]).encode())
        self._under_way[id(what)] = len(self._under_way)
        try:
            found = self._new(what)
        finally:
            del self._under_way[id(what)]
        self._known[id(what)] = what, found
        return found

    def _new(self, what: Any) -> bytes:
        if isinstance(what, types.ModuleType):
            return self._library(what.__name__, what.__name__)
        if isinstance(what, types.CodeType):
            return bytecode(what, self._of)
        if isinstance(what, _IN_C):
            return self._in_c(what)
        if type(what) in (set, frozenset):
            return _hashed(type(what).__name__.encode(), *sorted(self._of(one) for one in what))
        if type(what) is np.ndarray or isinstance(what, np.generic):
            return self._array(np.asarray(what))
        parts = _parts(what)
        return self._instance(what) if parts is None else self._all(type(what).__name__, parts)

    def _all(self, kind: str, parts: Iterable[Any]) -> bytes:
        parts = [*parts]
        if all(type(part) in _PLAIN for part in parts):  # maybe one for each atom
            return _hashed(kind.encode(), b"plain", repr(parts).encode())
        return _hashed(kind.encode(), *(self._of(part) for part in parts))

    def _array(self, array: np.ndarray[Any, Any]) -> bytes:
        if array.dtype.hasobject:
            return self._all(f"array {array.dtype} {array.shape}", [array.ravel().tolist()])
        return _hashed(f"array {array.dtype.descr} {array.shape}".encode(), array.tobytes())

    def _in_c(self, what: Any) -> bytes:
        owner = getattr(what, "__self__", None) or getattr(what, "__objclass__", None)
        name = getattr(what, "__qualname__", None) or what.__name__
        if owner is None or isinstance(owner, types.ModuleType):
            module = getattr(what, "__module__", None) or getattr(owner, "__name__", None)
            return self._library(module or ("numpy" if isinstance(what, np.ufunc) else None), name)
        return self._all(f"in C {name}", (owner,))

    def _library(self, module: str | None, name: str) -> bytes:
        """Return a digest for a name from a library, and record the distribution."""
        origin = origin_of(module)
        if origin is OWN_CODE:
            compiled = file_of_compiled(module)
            if compiled is not None:
                self.parts[f"file of the compiled module {module}"] = hashlib.sha256(compiled).hexdigest()[:16]
        elif origin not in (PYTHON, "mdreel"):
            self.distributions.add(origin)
        return _hashed(b"named", f"{module}.{name}".encode())

    def _function(self, function: types.FunctionType) -> bytes:
        # Not `__module__`, which decorators copy from the wrapped function.
        module = function.__globals__.get("__name__", "__main__")
        if origin_of(module) is not OWN_CODE:
            # The name identifies the code; values in the closure are added.
            named = self._library(module, function.__qualname__)
            if function.__closure__ is None or id(function) in self._under_way:
                return named
            self._under_way[id(function)] = len(self._under_way)
            try:
                return _hashed(named, *(self._of(cell) for cell in function.__closure__))
            finally:
                del self._under_way[id(function)]
        name, is_new = self._name("function", function)
        if is_new:
            self._describe_function(name, function)
        return _hashed(b"named", name.encode())

    def _describe_function(self, name: str, function: types.FunctionType) -> None:
        code = function.__code__
        self.parts[f"code of the {name}"] = ""  # reserves the place, so that parts are in the order of discovery
        own = bytecode(code, self._of, function.__doc__)
        self.parts[f"code of the {name}"] = _short(own)
        if function.__defaults__ or function.__kwdefaults__:
            given = (function.__defaults__, sorted((function.__kwdefaults__ or {}).items()))
            self.parts[f"default values of the {name}"] = _short(self._all("defaults", given))
        for variable, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            self.parts[f"value `{variable}` that the {name} closes over"] = _short(self._of(cell))
        attributes = {key: value for key, value in vars(function).items() if key != "__wrapped__"}
        if attributes:
            self.parts[f"attributes of the {name}"] = _short(self._of(attributes))
        self._describe_globals(function.__globals__, code)
        for module in imported_modules(code, function.__globals__):
            self._describe_module(module, names_in(code))

    def _describe_globals(self, space: dict[str, Any], code: types.CodeType) -> None:
        module = space.get("__name__", "?")
        for variable in global_names(code):
            if variable not in space:
                continue  # a builtin, or not yet defined
            value = space[variable]
            label = f"global value `{variable}` of the module {module}"
            if label not in self.parts:
                self.parts[label] = ""
                self.parts[label] = _short(self._of(value))
            if isinstance(value, types.ModuleType):
                self._describe_module(value, names_in(code))

    def _describe_module(self, module: types.ModuleType, names: set[str]) -> None:
        """Add those values of a user's module that are used in code."""
        self._library(module.__name__, module.__name__)
        if origin_of(module.__name__) is not OWN_CODE:
            return
        for name in sorted(names & vars(module).keys()):
            label = f"value `{name}` of the module {module.__name__}"
            value = vars(module)[name]
            if label not in self.parts:
                self.parts[label] = ""
                self.parts[label] = _short(self._of(value))
                if isinstance(value, types.ModuleType):
                    self._describe_module(value, names)

    def _class(self, kind: type) -> bytes:
        if origin_of(kind.__module__) is not OWN_CODE:
            return self._library(kind.__module__, kind.__qualname__)
        name, is_new = self._name("class", kind)
        if is_new:
            self.parts[f"bases of the {name}"] = ""
            bases = (*kind.__mro__[1:], type(kind))
            self.parts[f"bases of the {name}"] = _short(self._all("bases", bases))
            for attribute, value in sorted(vars(kind).items()):
                if attribute not in _NOT_OF_A_CLASS:
                    self.parts[f"attribute `{attribute}` of the {name}"] = _short(self._of(value))
        return _hashed(b"named", name.encode())

    def _name(self, kind: str, what: Any) -> tuple[str, bool]:
        """Return a unique name of a function or class, and whether it is new."""
        if id(what) in self._names:
            return self._names[id(what)][1], False
        taken = {name for _, name in self._names.values()}
        plain = f"{kind} {what.__qualname__} ({what.__module__})"
        name, number = plain, 2
        while name in taken:
            name, number = f"{plain} #{number}", number + 1
        self._names[id(what)] = what, name
        return name, True

    def _instance(self, what: Any) -> bytes:
        if _is_ours(what) and hasattr(what, "digested"):
            return self._all("instance", (type(what), what.digested()))
        if _is_ours(what) and dataclasses.is_dataclass(what):
            fields = [getattr(what, field.name) for field in dataclasses.fields(what)]
            return self._all("instance", (type(what), *fields))
        for inner in ("__wrapped__", "py_func", "func"):  # attributes of lru_cache, numba and cached_property
            function = getattr(what, inner, None)
            if isinstance(function, types.FunctionType) and origin_of(type(what).__module__) is not OWN_CODE:
                return self._all("wrapped", (type(what), function))
        return self._all("instance", (type(what), *self._state(what)))

    def _state(self, what: Any) -> list[Any]:
        """Return the state of an instance, in the same way as for a pickle."""
        try:
            reduced = what.__reduce_ex__(5)
        except Exception:  # noqa: BLE001 (an object can raise any error)
            return [getattr(what, "__dict__", None)]
        if isinstance(reduced, str):
            return [reduced]
        return [*reduced[:3], *(None if each is None else [*each] for each in reduced[3:5])]


def _parts(what: Any) -> list[Any] | None:
    """Return the content of a container or a Python function wrapper, or None for any other object."""
    found: list[Any] | None
    match what:
        case types.MethodType():
            found = [what.__func__, what.__self__]
        case functools.partial():
            found = [what.func, what.args, what.keywords]
        case staticmethod() | classmethod():
            found = [what.__func__]
        case property():
            found = [what.fget, what.fset, what.fdel]
        case types.CellType():
            found = _content(what)
        case tuple() | list() if type(what) in (tuple, list):
            found = [*what]
        case dict() | types.MappingProxyType() if type(what) in (dict, types.MappingProxyType):
            found = [part for item in what.items() for part in item]
        case _:
            found = parts_of_mdanalysis(what)
    return found


def _is_ours(what: Any) -> bool:
    return origin_of(type(what).__module__) == "mdreel"


def _content(cell: types.CellType) -> list[Any]:
    try:
        return [cell.cell_contents]
    except ValueError:  # an empty cell
        return []


def _hashed(*parts: bytes) -> bytes:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.digest()


def _short(digest: bytes) -> str:
    return digest.hex()[:16]
