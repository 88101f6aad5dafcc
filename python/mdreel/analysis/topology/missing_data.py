"""Error for topologies that lack an attribute; programs written for MDAnalysis catch it as they catch MDAnalysis's."""

from MDAnalysis.exceptions import NoDataError

from mdreel.errors import SelectionError


class MissingDataError(SelectionError, NoDataError):  # type: ignore[misc]
    """The topology, or the analysis, lacks data that is needed."""
