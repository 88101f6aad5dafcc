"""Tokens and certificates of connections between nodes."""

from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from mdreel.errors import MismatchError

_LEAST_TOKEN = 16


@dataclass(frozen=True)
class Security:
    """Who may connect: those who have the token, or whose certificates are of the same authority.

    Attributes
    ----------
    token_file : path, optional
        A file of the user's alone with a secret of 16 characters or more, which both sides have.
    certificate, key : path, optional
        The certificate of this side and its private key, PEM; for ``tls/`` addresses.
    authority : path, optional
        The certificate of the authority by which the other side is known, PEM.
    """

    token_file: str | PathLike[str] | None = None
    certificate: str | PathLike[str] | None = None
    key: str | PathLike[str] | None = None
    authority: str | PathLike[str] | None = None

    @property
    def has_tls(self) -> bool:
        """Whether both sides show certificates."""
        return self.certificate is not None

    @property
    def is_there(self) -> bool:
        """Whether anything at all keeps strangers out."""
        return self.has_tls or self.token_file is not None

    def check(self, endpoint: str) -> None:
        """Check that it goes with an address.

        Raises
        ------
        MismatchError
            If certificates are said in part, or without a ``tls/`` address, or the other way round.
        FileNotFoundError
            If a file is not there.
        PermissionError
            If others may read a secret.
        """
        of_tls = [path for path in (self.certificate, self.key, self.authority) if path is not None]
        if len(of_tls) not in (0, 3):
            raise MismatchError(f"{endpoint}: TLS needs a certificate, its key and the authority's certificate")
        if endpoint.startswith("tls/") != self.has_tls:
            raise MismatchError(f"{endpoint}: certificates go with an address that begins with tls/, and the other way")
        secrets = [path for path in (self.key, self.token_file) if path is not None]
        for path in (*of_tls, *secrets):
            if not Path(path).is_file():
                raise FileNotFoundError(2, "no such file", str(path))
        for secret in secrets:
            mode = Path(secret).stat().st_mode
            if mode & 0o077:
                raise PermissionError(13, f"expected no rights for others, got mode {mode & 0o7777:o}", str(secret))

    def token(self) -> str | None:
        """Read the token.

        Raises
        ------
        MismatchError
            If it is too short, or nothing that fits into one line.
        """
        if self.token_file is None:
            return None
        token = Path(self.token_file).read_text(encoding="utf-8").strip()
        if len(token) < _LEAST_TOKEN or not token.isascii() or not token.isprintable() or ":" in token:
            expected = f"{_LEAST_TOKEN} or more printable ASCII characters without a colon, in one line"
            raise MismatchError(f"{self.token_file}: expected a token of {expected}")
        return token
