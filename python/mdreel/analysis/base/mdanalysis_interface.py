"""Attributes and methods that programs written for MDAnalysis expect of an analysis."""

import warnings
from collections.abc import Mapping
from typing import Any, ClassVar

from mdreel.foundation.stack_level import caller_level


class MDAnalysisInterface:
    """Attributes that MDAnalysis analyses have and that mdreel itself does not need."""

    _moved_to_results: ClassVar[Mapping[str, str]] = {}
    """Results that MDAnalysis also offers as attributes of the analysis: names of the results, by attribute."""

    _attributes_in_warnings: ClassVar[Mapping[str, str]] = {"angles": "angle"}
    """Attributes that MDAnalysis's deprecation warnings call by another name, for filters of warnings."""

    _analysis_algorithm_is_parallelizable: ClassVar[bool] = True
    """Whether frames may be analysed in any order, under the name that MDAnalysis gives it."""

    @classmethod
    def get_supported_backends(cls) -> tuple[str, ...]:
        """Return the names of MDAnalysis's backends. `run` supports them all, and other executors."""
        return ("serial", "multiprocessing", "dask")

    @property
    def parallelizable(self) -> bool:
        """Whether the analysis runs in parallel: always."""
        return True

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for attribute, result in vars(cls).get("_moved_to_results", {}).items():
            name = cls._attributes_in_warnings.get(attribute, attribute)
            setattr(cls, attribute, _deprecated(name, result))


def _deprecated(attribute: str, result: str) -> property:
    """Return a property that gives a result, with a warning."""

    def value(analysis: Any) -> Any:
        warnings.warn(
            f"The `{attribute}` attribute was deprecated in MDAnalysis 2.0.0: use `results.{result}`",
            DeprecationWarning,
            stacklevel=caller_level(),
        )
        return getattr(analysis.results, result)

    return property(value, doc=f"Deprecated: `results.{result}`.")
