"""Attributes and methods of analyses that programs written for MDAnalysis expect."""

import warnings
from collections.abc import Mapping
from typing import Any, ClassVar

from mdreel.foundation.stack_level import caller_level


class MDAnalysisInterface:
    """Attributes of MDAnalysis analyses that mdreel itself does not need."""

    _moved_to_results: ClassVar[Mapping[str, str]] = {}
    """Names of results that are also attributes of the analysis in MDAnalysis, by attribute."""

    _attributes_in_warnings: ClassVar[Mapping[str, str]] = {"angles": "angle"}
    """Names that MDAnalysis's deprecation warnings use for some attributes, so that warning filters still match."""

    _analysis_algorithm_is_parallelizable: ClassVar[bool] = True
    """Whether frames may be analysed in any order. MDAnalysis reads this attribute."""

    @classmethod
    def get_supported_backends(cls) -> tuple[str, ...]:
        """Return the names of MDAnalysis's backends. `run` supports all of them, and additional executors."""
        return ("serial", "multiprocessing", "dask")

    @property
    def parallelizable(self) -> bool:
        """Whether the analysis can run in parallel, which is always true."""
        return True

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for attribute, result in vars(cls).get("_moved_to_results", {}).items():
            name = cls._attributes_in_warnings.get(attribute, attribute)
            setattr(cls, attribute, _deprecated(name, result))


def _deprecated(attribute: str, result: str) -> property:
    """Return a property that returns a result and issues a deprecation warning."""

    def value(analysis: Any) -> Any:
        warnings.warn(
            f"The `{attribute}` attribute was deprecated in MDAnalysis 2.0.0: use `results.{result}`",
            DeprecationWarning,
            stacklevel=caller_level(),
        )
        return getattr(analysis.results, result)

    return property(value, doc=f"Deprecated: `results.{result}`.")
