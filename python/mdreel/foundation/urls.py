"""URLs of remote files."""

SCHEMES = ("http", "https", "s3", "gs", "az")


def is_remote(path: object) -> bool:
    """Tell a URL of a server from a path.

    Parameters
    ----------
    path : object
        What was given as a trajectory.

    Returns
    -------
    bool
        Whether it is a string that begins with one of `SCHEMES` and ``://``.
    """
    return isinstance(path, str) and path.split("://", 1)[0].lower() in SCHEMES and "://" in path
