"""URLs of remote files."""

SCHEMES = ("http", "https", "s3", "gs", "az")


def is_remote(path: object) -> bool:
    """Return whether a path is a URL of a server.

    Parameters
    ----------
    path : object
        Path or URL of a trajectory.

    Returns
    -------
    bool
        Whether it is a text that begins with one of `SCHEMES` and ``://``.
    """
    return isinstance(path, str) and path.split("://", 1)[0].lower() in SCHEMES and "://" in path
