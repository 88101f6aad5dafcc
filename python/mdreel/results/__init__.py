"""Results of analyses, with tables and figures."""

from mdreel.results.column import Column
from mdreel.results.files import check_output, write
from mdreel.results.results import Results

__all__ = ["Column", "Results", "check_output", "write"]
