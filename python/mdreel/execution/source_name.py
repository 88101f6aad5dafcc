"""Names of sources in messages."""

from mdreel._core import Source


def name_of(source: Source) -> str:
    """Name the files of a source for a message.

    Parameters
    ----------
    source : Source
        The source.

    Returns
    -------
    str
        The path, or the first of several and how many there are; or that it is in memory.
    """
    paths = [str(facts["path"]) for facts in source.describe() if "path" in facts]
    if not paths:
        return "the trajectory in memory"
    return paths[0] if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"
