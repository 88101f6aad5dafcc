"""Container for the results of an analysis."""

from typing import Any

import numpy as np


class Results(dict[str, Any]):
    """The results of an analysis, accessible as attributes or keys: ``results.rmsd`` is ``results["rmsd"]``.

    Names must be identifiers and must not be names of dict methods, so that both ways to access them are equivalent.

    Examples
    --------
    >>> from mdreel.results import Results
    >>> results = Results(n_frames=98)
    >>> results.n_frames
    98
    >>> results
    Results(n_frames=98)
    """

    def __init__(self, **values: Any) -> None:
        super().__init__()
        for name, value in values.items():
            self[name] = value

    def __setitem__(self, name: str, value: Any) -> None:
        if not str.isidentifier(name):
            raise TypeError(f"{name!r} cannot name a result: expected an identifier")
        if hasattr(dict, name):
            raise AttributeError(f"{name!r} cannot name a result: it is a method of dict")
        super().__setitem__(name, value)

    def update(self, *mappings: Any, **values: Any) -> None:
        """Check the names of several values, and set the values."""
        for name, value in dict(*mappings, **values).items():
            self[name] = value

    def setdefault(self, name: str, default: Any = None) -> Any:
        """Return the value called `name`. If there is no such value, first set it to `default`."""
        if name not in self:
            self[name] = default
        return self[name]

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            known = f"known: {', '.join(self)}" if self else "there are no results yet: call run() first"
            raise AttributeError(f"there is no result {name!r}; {known}", name=name, obj=self) from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    def __delattr__(self, name: str) -> None:
        try:
            del self[name]
        except KeyError:
            raise AttributeError(f"there is no result {name!r}", name=name, obj=self) from None

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self})

    def __repr__(self) -> str:
        return f"Results({', '.join(f'{name}={_brief(value)}' for name, value in self.items())})"


def _brief(value: Any) -> str:
    """Return a short representation of a value. For arrays, it contains the dtype and the shape."""
    if isinstance(value, np.ndarray):
        return f"<{value.dtype} array of shape {value.shape}>"
    return repr(value)
