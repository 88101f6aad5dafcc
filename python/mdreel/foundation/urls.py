"""URLs of remote files."""

import re

SCHEMES = ("http", "https", "s3", "gs", "az")


_USER = re.compile(r"(?<=://)[^/@\s]+@")
_QUERY = re.compile(r"(://[^\s?'\"]*\?)[^\s'\"]+")


def without_secrets(text: str) -> str:
    """Remove users, passwords and queries, which can grant access to files, from the URLs in a text.

    Parameters
    ----------
    text : str
        A URL, or a text that contains URLs.

    Examples
    --------
    >>> from mdreel.foundation.urls import without_secrets
    >>> without_secrets("https://me:secret@example.org/adk.xtc?signature=abc")
    'https://...@example.org/adk.xtc?...'
    """
    return _QUERY.sub(r"\1...", _USER.sub("...@", text))


def is_remote(path: object) -> bool:
    """Return whether a path is the URL of a remote file.

    Parameters
    ----------
    path : object
        Path or URL of a trajectory.

    Returns
    -------
    bool
        Whether `path` is a str that begins with one of `SCHEMES` and ``://``.
    """
    return isinstance(path, str) and path.split("://", 1)[0].lower() in SCHEMES and "://" in path
