"""Access control for the page, based on a token and on host names."""

import hmac
import ipaddress
from collections.abc import Collection
from urllib.parse import parse_qs, urlsplit

_BEARER = "bearer "


class PageAccess:
    """Rules that determine whether a request is answered.

    Parameters
    ----------
    token : str
        Required token. Clients send it in the URL as ``token=``, or in the header ``Authorization: Bearer``.
    names : collection of str
        Host names of this machine.

    Notes
    -----
    A malicious web page can make its own host name resolve to this machine (DNS rebinding), and then send requests on
    behalf of the user. Therefore, the ``Host`` header must be an IP address or a host name of this machine.
    """

    def __init__(self, token: str, names: Collection[str] = ()) -> None:
        self._token = token.encode()
        self._names = {"localhost", *(name.lower().rstrip(".") for name in names)}

    def is_granted(self, host: str | None, authorization: str | None, path: str) -> bool:
        """Return whether to answer a request, given two of its headers, and its path including the query."""
        return self._is_own(host or "") and self._is_token(authorization, path)

    def _is_own(self, host: str) -> bool:
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return name.lower().rstrip(".") in self._names
        return True

    def _is_token(self, authorization: str | None, path: str) -> bool:
        given = authorization or ""
        if given.lower().startswith(_BEARER):
            token = given[len(_BEARER) :].strip()
        else:
            try:
                token = parse_qs(urlsplit(path).query).get("token", [""])[0]
            except ValueError:
                return False
        # A constant-time comparison, so that response times do not reveal the token.
        return hmac.compare_digest(token.encode(errors="replace"), self._token)
