"""Error for topologies that lack an attribute. Programs written for MDAnalysis can catch it as a NoDataError."""

from MDAnalysis.exceptions import NoDataError

from mdreel.errors import SelectionError


class MissingDataError(SelectionError, NoDataError):  # type: ignore[misc]
    """Error raised if the topology or the analysis lacks required data."""
