"""Tokens and certificates that the two sides of a link use to authenticate each other."""

from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from mdreel.errors import MismatchError

_LEAST_TOKEN = 16


@dataclass(frozen=True)
class Security:
    """Authentication by a shared token, or by TLS certificates from the same authority.

    Attributes
    ----------
    token_file : path, optional
        Private file that contains a secret of at least 16 characters, which both sides share.
    certificate, key : path, optional
        Certificate of this side and its private key, in PEM format, for ``tls/`` addresses.
    authority : path, optional
        Certificate of the authority that signs the certificates of the other side, in PEM format.

    Examples
    --------
    >>> from pathlib import Path
    >>> import mdreel
    >>> path = Path("token")
    >>> path.touch(mode=0o600)
    >>> length = path.write_text("a secret of 16 characters or more")
    >>> mdreel.live.Security(token_file=path).is_set
    True
    """

    token_file: str | PathLike[str] | None = None
    certificate: str | PathLike[str] | None = None
    key: str | PathLike[str] | None = None
    authority: str | PathLike[str] | None = None

    @property
    def has_tls(self) -> bool:
        """Whether both sides present certificates."""
        return self.certificate is not None

    @property
    def is_set(self) -> bool:
        """Whether a token or certificates are set."""
        return self.has_tls or self.token_file is not None

    def check(self, endpoint: str) -> None:
        """Check that the files are valid, and suitable for the address.

        Raises
        ------
        MismatchError
            When your certificates are incomplete, or you use certificates without a ``tls/`` address, or a ``tls/``
            address without certificates.
        FileNotFoundError
            When a file does not exist.
        PermissionError
            When other users can read a secret.
        """
        of_tls = [path for path in (self.certificate, self.key, self.authority) if path is not None]
        if len(of_tls) not in (0, 3):
            raise MismatchError(f"{endpoint}: TLS requires a certificate, its key and the authority's certificate")
        if endpoint.startswith("tls/") != self.has_tls:
            raise MismatchError(f"{endpoint}: certificates require an address that starts with tls/, and vice versa")
        secrets = [path for path in (self.key, self.token_file) if path is not None]
        for path in (*of_tls, *secrets):
            if not Path(path).is_file():
                raise FileNotFoundError(2, "no such file", str(path))
        for secret in secrets:
            mode = Path(secret).stat().st_mode
            if mode & 0o077:
                raise PermissionError(13, f"expected no rights for others, got mode {mode & 0o7777:o}", str(secret))

    def read_token(self) -> str | None:
        """Read the token.

        Raises
        ------
        MismatchError
            If your token is too short, or is not a single line of printable ASCII characters.
        """
        if self.token_file is None:
            return None
        token = Path(self.token_file).read_text(encoding="utf-8").strip()
        if len(token) < _LEAST_TOKEN or not token.isascii() or not token.isprintable() or ":" in token:
            expected = f"{_LEAST_TOKEN} or more printable ASCII characters without a colon, in one line"
            raise MismatchError(f"expected a token of {expected}", path=self.token_file)
        return token
