"""Token and host check of the web page."""

import hmac
import ipaddress
from collections.abc import Collection
from urllib.parse import parse_qs, urlsplit

_BEARER = "bearer "


class Access:
    """Says whether a request is answered.

    Parameters
    ----------
    token : str
        What it must have: in its address as ``token=``, or in its head as ``Authorization: Bearer``.
    names : collection of str
        What this machine is called.

    Notes
    -----
    A page of somebody else's can have its own name lead to this machine (DNS rebinding), and then ask in our name. It
    cannot have an address for a name, nor a name of ours: requests that ask for any other host are refused.
    """

    def __init__(self, token: str, names: Collection[str] = ()) -> None:
        self._token = token.encode()
        self._names = {"localhost", *(name.lower().rstrip(".") for name in names)}

    def is_granted(self, host: str | None, authorization: str | None, path: str) -> bool:
        """Return whether a request is answered.

        Parameters
        ----------
        host, authorization : str or None
            What its head says.
        path : str
            What it asks for, with its query.
        """
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
        # Takes as long for a wrong token that begins as ours does as for any other.
        return hmac.compare_digest(token.encode(errors="replace"), self._token)
