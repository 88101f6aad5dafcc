"""Names of sources in messages."""

from mdreel._core import Source


def source_name(source: Source) -> str:
    """Return a name of a source for messages.

    Parameters
    ----------
    source : Source
        The source.

    Returns
    -------
    str
        The path, the first path and the number of other files, or "the trajectory in memory".
    """
    paths = [str(facts["path"]) for facts in source.describe() if "path" in facts]
    if not paths:
        return "the trajectory in memory"
    return paths[0] if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"
