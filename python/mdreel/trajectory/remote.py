"""Remote files that are accessed over HTTP(S) and S3 with obstore."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from mdreel.errors import MismatchError, UnsupportedError
from mdreel.foundation.arguments import checked_arguments


class RemoteFile:
    """A remote file from which only the required byte ranges are read.

    Parameters
    ----------
    url : str
        ``http(s)://host/path``, ``s3://bucket/path``, ``gs://bucket/path`` or ``az://container/path``.
    options : mapping, optional
        Options for obstore (``endpoint``, ``region``, ``skip_signature``...). As in the vendor's own tools, credentials
        are taken from the environment, the configuration file or the role.

    Attributes
    ----------
    url : str
        The URL.
    size : int
        Size of the file in bytes.
    version : str
        Entity tag of the file, or its modification time and size, which changes when the content changes.

    Raises
    ------
    UnsupportedError
        If obstore is not installed.
    FileNotFoundError
        If the server has no such file.
    PermissionError
        If the server denies access.
    OSError
        If the server cannot be reached.

    Notes
    -----
    When a remote file is unpickled, it sends a new request to the server. Failed requests are repeated by obstore and
    by the core.

    Examples
    --------
    >>> import mdreel
    >>> file = mdreel.trajectory.RemoteFile("s3://bucket/md.xtc", {"region": "eu-west-1"})  # doctest: +SKIP
    >>> mdreel.read(file, stop=10).positions.shape  # doctest: +SKIP
    """

    @checked_arguments
    def __init__(self, url: str, options: Mapping[str, Any] | None = None) -> None:
        self.url = url
        self._options = dict(options or {})
        self._store, self._name = _store(url, self._options)
        found = _head(self._store, self._name, url)
        self.size = int(found["size"])
        self.version = str(found.get("e_tag") or f"{found.get('last_modified')} {self.size}")

    def fetch(self, ranges: Sequence[tuple[int, int]]) -> list[bytes]:
        """Fetch ranges of bytes.

        Parameters
        ----------
        ranges : sequence of (int, int)
            Start and end (exclusive) of each range.

        Returns
        -------
        list of bytes
            The bytes of each range.
        """
        import obstore

        starts, ends = zip(*ranges, strict=True)
        # The core has already merged ranges that lie close together.
        parts = obstore.get_ranges(self._store, self._name, starts=starts, ends=ends, coalesce=0)
        return [bytes(part) for part in parts]

    def __reduce__(self) -> tuple[type[RemoteFile], tuple[str, dict[str, Any]]]:
        return RemoteFile, (self.url, self._options)

    def __repr__(self) -> str:
        return f"RemoteFile({self.url!r})"


def _store(url: str, options: dict[str, Any]) -> tuple[Any, str]:
    """Return the store to which a URL refers, and the name of the file in this store."""
    try:
        from obstore.exceptions import BaseError
        from obstore.store import from_url
    except ImportError as error:
        raise UnsupportedError(f"{url}: files behind a network need obstore: pip install 'mdreel[remote]'") from error
    parts = urlsplit(url)
    if not (parts.scheme and parts.netloc):
        raise MismatchError(f"url must name a server and a file, such as https://server/file.xtc, not {url!r}")
    root, name = f"{parts.scheme}://{parts.netloc}", parts.path.lstrip("/")
    if parts.query:
        # A signed URL is valid for one file only, so it is the root of the store.
        root, name = url, ""
    if parts.scheme == "http":
        options = {**options, "client_options": {"allow_http": True, **options.get("client_options", {})}}
    try:
        return from_url(root, **options), name
    except (BaseError, TypeError, ValueError) as error:
        given = ", ".join(map(repr, options)) or "none"
        raise MismatchError(f"{url}: obstore refuses the options ({given}): {_first_line(error)}") from error


def _head(store: Any, name: str, url: str) -> dict[str, Any]:
    import obstore
    from obstore.exceptions import BaseError, PermissionDeniedError, UnauthenticatedError

    try:
        return dict(obstore.head(store, name))
    except FileNotFoundError as error:
        raise FileNotFoundError(2, "the server has no such file", url) from error
    except (PermissionDeniedError, UnauthenticatedError) as error:
        raise PermissionError(13, "the server denies access to this file", url) from error
    except BaseError as error:
        raise OSError(f"{url}: {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]
