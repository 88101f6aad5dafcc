"""Access control for the page, based on two tokens and on host names."""

import hmac
import ipaddress
from collections.abc import Collection
from enum import StrEnum
from urllib.parse import parse_qs, urlsplit

_BEARER = "bearer "


class Role(StrEnum):
    """Rights of a client, which depend on its token."""

    VIEWER = "viewer"
    """A viewer can look at everything and change nothing."""
    OPERATOR = "operator"
    """An operator can also change the analyses and the alerts of the page."""


class PageAccess:
    """Rules that determine whether a request is answered.

    Parameters
    ----------
    viewer_token : str
        Token of viewers. Clients send their token in the URL as ``token=``, or in the header ``Authorization: Bearer``.
    names : collection of str
        Host names of this machine.
    operator_token : str or None
        Token of operators, or None if nobody may operate.

    Notes
    -----
    A malicious web page can make its own host name resolve to this machine (DNS rebinding), and then send requests on
    behalf of the user. Therefore, the ``Host`` header must be an IP address or a host name of this machine. It can also
    send requests to this machine under its real address (CSRF). Therefore, requests that change something must carry
    the token in a header, which browsers never add on their own, and must not have the ``Origin`` of another page.
    """

    def __init__(self, viewer_token: str, names: Collection[str] = (), operator_token: str | None = None) -> None:
        tokens = {Role.VIEWER: viewer_token, Role.OPERATOR: operator_token}
        self._tokens = {role: token.encode() for role, token in tokens.items() if token is not None}
        self._names = {"localhost", *(name.lower().rstrip(".") for name in names)}

    def role_of(self, host: str | None, authorization: str | None, path: str) -> Role | None:
        """Return the role of a client, or None if its request must not be answered.

        Parameters
        ----------
        host, authorization : str or None
            Two headers of the request.
        path : str
            Its path, including the query.
        """
        if not self._is_own(host or ""):
            return None
        given = _given_token(authorization, path).encode(errors="replace")
        # Constant-time comparisons with all tokens, so that response times do not reveal any of them.
        found = [role for role, token in self._tokens.items() if hmac.compare_digest(given, token)]
        return found[0] if found else None

    @staticmethod
    def is_same_origin(host: str | None, origin: str | None, site: str | None) -> bool:
        """Return whether a request comes from our own page or from a program, given three of its headers.

        Parameters
        ----------
        host, origin, site : str or None
            The headers ``Host``, ``Origin`` and ``Sec-Fetch-Site``. Programs send only the first.
        """
        return origin in (None, f"http://{host}", f"https://{host}") and site in (None, "same-origin")

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


def has_token_header(authorization: str | None) -> bool:
    """Return whether the header ``Authorization`` contains a token."""
    return (authorization or "").lower().startswith(_BEARER)


def _given_token(authorization: str | None, path: str) -> str:
    if has_token_header(authorization):
        return (authorization or "")[len(_BEARER) :].strip()
    try:
        return parse_qs(urlsplit(path).query).get("token", [""])[0]
    except ValueError:
        return ""
